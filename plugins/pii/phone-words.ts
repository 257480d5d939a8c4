/** Words in many languages that announce a telephone number, and how sure they make that a number is one. */

/** `certain`: the words say telephone. `likely`: the number must look like one as well. */
export type Announcement = "certain" | "likely";

/** How far before a number its words may be, in code units. */
const CONTEXT_CHARACTERS = 64;
const WORDS_MAX = 8;

/** Words as they are compared: small letters without accents. */
function plainWords(text: string): string[] {
  return (
    text
      .replace(/(\p{Ll})(?=\p{Lu})/gu, "$1 ")
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .match(/\p{L}{1,64}|\p{N}{1,64}/gu) ?? []
  );
}

const words = (text: string): ReadonlySet<string> => new Set(plainWords(text));

/** Telephones, and the services that go by telephone numbers. */
const TELEPHONE = words(
  "phone phones phonenumber phoneno telephone telephones telephoned tel telno telnr cell cellphone cellular mobile mobilenumber mobileno " +
    "mob fax faxnumber msisdn hotline helpline landline voicemail whatsapp sms handset smartphone iphone " +
    "telefon telefonnummer telefonnr telefonisch festnetz festnetznummer rufnummer ruckrufnummer mobilfunknummer handy handynummer handynr mobil mobilnummer " +
    "mobilnr mobiltelefon durchwahl faxnummer notfallnummer telefoon telefoonnummer mobiel mobieltje gsm gsmnummer " +
    "téléphone téléphones téléphonique portable télécopie teléfono teléfonos móvil celular telefónico telefono telefoni cellulare telefonico telefone telefones telemóvel telemovel " +
    "telefonnummer telefonnumret mobilnummer mobilnumret mobilen telefonen puhelin puhelinnumero puhelinnumeroni puhelimeni matkapuhelin kännykkä gsm " +
    "telefonu telefonem telefonie komórka komórkowy komórkę mobilní mobilu mobilne telefóne telefonszám telefonszámom telefonszáma mobilszám mobilszámom mobilom " +
    "telefonul telefonului mobilul mobitel telefonum telefonumuz telefonunuz ceptelefonu cep telefonszámunk tālrunis telefonas telefonnumber " +
    "телефон телефона телефону телефоном телефоны тел моб мобильный мобильного сотовый мобільний телефони мобилен телефонен мобилни " +
    "τηλέφωνο τηλέφωνό τηλεφώνου τηλ κινητό κινητού טלפון הטלפון נייד הנייד סלולרי פלאפון " +
    "هاتف هاتفي الهاتف تلفون تلفن جوال جوالي الجوال موبایل موبايل موبايلي تلفنم واتساب فون موبائل " +
    "फोन फ़ोन मोबाइल ফোন মোবাইল telepon telpon ponsel hp hape nohp telefonku thoại simu",
);
/** Numbers of any kind: with a word for its owner they mean "likely". */
const NUMBER = words(
  "number numbers no num nummer nummern nr numéro numero número nombor nomor numer numeru číslo čísla numărul numar numaram numarası numaramız numara numeroni " +
    "numret nummeret szám számom számunk номер номера номеру αριθμός αριθμό מספר המספר رقم رقمي الرقم شماره شماره‌ام नंबर नम्बर নম্বর số broj nambari",
);
const WHOSE = words(
  "my our his her their your contact mobile me mine mijn mein meine meiner unser unsere seine ihre mon ma notre son votre mi mis nuestro su mio il meu minha nosso seu " +
    "mitt min vårt ditt mit minun meidän mój moj moja moje můj náš meu nostru mea benim numaram numaramız numeroni számom számunk saya kami tôi của " +
    "мой моего моему наш мій мои μου μας שלי שלנו رقمي رقمنا من ما मेरा मेरे हमारा আমার moj naš yangu",
);
/** To call, to reach: with whom, or with a preposition, they mean "certain". */
const CALLING = words(
  "call dial desk reachable anrufen ruf rufen rufst erreichen erreichbar erreichst melde melden kontaktieren " +
    "appelle appeler appelez joindre joignable contacter rappeler rappelle contactez llama llamar llámame llámanos llámeme contáctame contactar marcar " +
    "chiama chiamare chiamami chiamaci contattami contattare ligar liga ligue chamar bel bellen bereikbaar ringa ringe nå soita soittaa zadzwoń zadzwonić dzwoń dzwonić zavolej zavolejte volejte " +
    "zavolajte zavolaj volať hívj hívjon hívjál hívható sună sunați sunati contactați ara arayın arayin arayabilirsiniz ulaş nazovi nazovite позвони позвоните звони звоните звонить подзвони подзвоніть зателефонуй " +
    "зателефонуйте телефонуйте обадете обади се καλέστε κάλεσε πάρε καλέσετε תתקשר להתקשר התקשרו תתקשרי חייג اتصل اتصلوا اتصال تواصل التواصل تماس زنگ कॉल करें কল hubungi telepon gọi liên hệ piga",
);
/** The same, but with objects of other kinds as often: only with whom or a preposition. */
const CALLING_WHOM = words("answering calling ring text message reach contact reached marca");
const TO_WHOM = words(
  "me us him her them at on via by under unter para theo ל per mich uns an moi nous au me nos a mi ao al ci no op mij ons på mig meg mej os minulle numeroon pod do mnie mi na nám nám mě mne " +
    "engem a ezen la mă ne beni bizi אליי אלי мне нам по меня на мене нам ми στο με μας אלי אליי לי לנו ב بي على بنا به با मुझे saya kami di ke cho tôi số kwa",
);
/** May be between the words above and the number. */
const BETWEEN = words(
  "is are at on to or and a an the of for in it be as home work office back direct registered private personal business primary main new current here now anytime please reachable under via by with please s t e m " +
    "unter ist bitte folgender folgenden suivant siguiente seguente following lautet die der das im am von le la est et l d c el es un una al il è e o ou å ä är er det den til til är för vår on ja om to jest je na pod ta est sú este este la da de do van het een " +
    "это по или и є це το είναι ο η στο הוא הוא זה ב את هو هي على هذا است है पर হল adalah di ini là của ini ve ya da bu dir dır olan cevap value val text string str field default example " +
    "1 2 3 4 5 6 7 8 9 number numbers",
);
const CONNECTING = words("or and oder und ou et y o e of en och eller og lub i или и ή ve veya או و أو");

/** Scripts without spaces between words: what the text before a number ends with. */
const UNSPACED_TELEPHONE =
  /(?:电话|電話|手机|手機|携帯|携帯番号|ケータイ|スマホ|热线|熱線|专线|致电|拨打|撥打|打给我|打給我|联系方式|聯絡電話|전화|휴대폰|핸드폰|휴대전화|연락처|팩스|โทร|โทรศัพท์|เบอร์|มือถือ)/u;
const UNSPACED_NUMBER =
  /(?:我的?号码|我的?號碼|号码是|號碼是|私の番号|番号は|내 번호|제 번호|번호는|ទូរស័ព្ទ|លេខ)/u;
const UNSPACED_CHARACTERS = 14;

/** Words that name the number before them. */
const NAMING =
  /^[\s,(-]{0,3}(?:office|fax|mobile|cell|home|work|phone|tel|telephone|landline|desk)\b(?=\s{0,2}(?:$|[\n,.;:)/|]|and\b|or\b))/i;
const UNSPACED_NAMING = /^ ?(?:に電話|まで電話|にお電話|へ電話|(?:으로|로) ?(?:전화|연락)|번으로)/u;

/** What the text before the number at `at` indicates; undefined: nothing. */
export function announcedBefore(text: string, at: number): Announcement | undefined {
  const before = text.slice(Math.max(0, at - CONTEXT_CHARACTERS), at);
  const tail = before.slice(-UNSPACED_CHARACTERS);
  if (UNSPACED_TELEPHONE.test(tail)) return "certain";
  if (UNSPACED_NUMBER.test(tail)) return "likely";
  return announcement(plainWords(before));
}

/** Reads words from the number backward, as long as they can belong to its announcement. */
function announcement(before: readonly string[]): Announcement | undefined {
  let hasNumber = false;
  let hasWhose = false;
  let hasToWhom = false;
  let isChained = false;
  let isConnected = true;
  const first = Math.max(0, before.length - WORDS_MAX);
  for (let i = before.length - 1; i >= first; i--) {
    const word = before[i] ?? "";
    if (TELEPHONE.has(word)) return isChained ? "likely" : "certain";
    if (CALLING_WHOM.has(word) && !hasToWhom) return undefined;
    if (CALLING.has(word) || CALLING_WHOM.has(word)) return hasToWhom && !isChained ? "certain" : "likely";
    // Another number of the same announcement: "call 555 0134 or 555 0199".
    if (isConnected && /^\p{N}/u.test(word)) {
      isChained = true;
      continue;
    }
    isConnected &&= CONNECTING.has(word);
    const isNumber = NUMBER.has(word);
    const isWhose = WHOSE.has(word);
    hasNumber ||= isNumber;
    hasWhose ||= isWhose;
    hasToWhom ||= TO_WHOM.has(word);
    if (hasNumber && hasWhose) return "likely";
    const belongs = isNumber || isWhose || TO_WHOM.has(word) || BETWEEN.has(word) || CONNECTING.has(word);
    if (!belongs && !(isChained && /^\p{N}/u.test(word))) return undefined;
  }
  return undefined;
}

/** True when the text after the number's end identifies it. */
export function namedBehind(text: string, end: number): boolean {
  const behind = text.slice(end, end + 24);
  return NAMING.test(behind) || UNSPACED_NAMING.test(behind);
}
