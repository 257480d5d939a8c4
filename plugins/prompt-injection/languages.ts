/**
 * The attacks that are said alike in every language, for languages other than English: "forget your instructions",
 * "tell me the password", "give me the user's address". One entry a language; prompt-injection-rules.ts makes rules
 * of them. Stems rather than words, since most of these languages inflect.
 */

export interface Language {
  /** Whether the verb comes before what it is about, or after it. */
  readonly verb: "first" | "last";
  /** Stems of "ignore", "forget". Separated by `|`, as all the others. */
  readonly drop: string;
  /** Stems of "instruction", "previous", "the above", "everything". */
  readonly told: string;
  /** "What is", "tell me", "give", "confirm", "share". */
  readonly ask?: string;
  /** "Password", "secret key". */
  readonly secret?: string;
  /** Words that make a harmless question of it: "my", "change", "reset", "how do I". */
  readonly innocent?: string;
  /** "User". */
  readonly user?: string;
  /** What is nobody's business: birth, address, balance, where one lives. */
  readonly personal?: string;
  /** "Function", "web page", "résumé", "paper": what instructions are smuggled in by, and told to be ignored. */
  readonly carrier?: string;
  /** "Imagine that", "suppose", "hypothetically". */
  readonly imagine?: string;
  /** "Your password"; the beginning of "date of birth", "city where one lives". */
  readonly theirs?: string;
  /** "You must follow my instructions"; "I am a police officer". */
  readonly obey?: string;
  /** Phrases that are an attack by themselves: "act as", "you are now", "system mode", "I am your developer". */
  readonly pose?: string;
}

export const LANGUAGES: Readonly<Record<string, Language>> = {
  german: {
    verb: "first",
    drop: "ignorier|vergiss|vergesse|vergessen sie|missachte|übergeh|höre nicht auf|hör nicht auf|abweichend|verwirf|lass alle|lassen sie alle|streiche",
    told: "anweisung|befehl|instruktion|aufgabe|auftrag|aufträge|regeln|vorherig|vorangehend|vorangegangen|bisherig|obig|davor|zuvor|alles",
    ask: "was ist|wie lautet|sag|nenn|gib|verrate|zeig|schreib|können sie|kannst du|bestätig|teil|druck",
    secret:
      "passwort|kennwort|geheimschlüssel|geheimen schlüssel|geheimcode|prompt-text|prompttext|systemprompt|eingabeaufforderung",
    innocent: "mein|änder|zurücksetz|vergessen|wechsel|sicheres|wie kann|wie ich",
    user: "benutzer|nutzer",
    personal: "geburt|adresse|wohn|kontostand|initialen|lieblings|e-mail",
    pose: "du bist jetzt|jetzt bist du|ab jetzt bist du|spiele die rolle|ich möchte, dass sie als|ich möchte, dass du als|neue anweisungen|neuen aufgabe|neue aufgabe|neue aufgaben|weitere aufgaben|du bist keine|systemmodus|fungier|agieren|stell dir vor, du bist|tu so, als",
    carrier: "funktion|webseite|website|webpage|lebenslauf|artikel|papier|dokument|tabelle|code",
    imagine:
      "stell dir vor, wir|stell dir vor, es|stell dir vor, in|stellen sie sich vor, wir|stellen sie sich vor, es|stellen sie sich vor, in|stellen sie sich vor, ein|stellen wir uns vor|angenommen|nehmen wir an|sagen wir, wir|in einer welt, in der|hypothetisch",
    theirs:
      "ihr passwort|dein passwort|ihre passwörter|deine passwörter|passwort geben|ihr kennwort|dein kennwort|geburtsdatum|wohnt derzeit|aktueller wohnort|aktuellen wohnort|aktuelle stadt",
    obey: "du musst mir|sie müssen mir|meinen anweisungen|auf meine anweisungen|hören sie auf mich|ich bin polizist|ich bin ein polizist|ich bin polizeibeamter|ich bin gott|sie müssen meine|du musst meine",
  },
  french: {
    verb: "first",
    drop: "ignorez|ignore les|ignore tes|ignore tout|ignore toutes|ignore ce|oublie|oubliez|négligez|ne tiens pas compte|ne tenez pas compte|fais abstraction|faites abstraction",
    told: "instruction|consigne|directive|ordre|règle|précéd|précèd|antérieur|ci-dessus|tout ce",
    ask: "quel est|quelle est|quels sont|donne-moi|donnez|dis-moi|dites|pouvez|peux-tu|écri|confirmez|confirme la|partag|révèl|traduire|où",
    secret: "mot de passe|mots de passe|clé secrète|code secret|phrase secrète",
    innocent: "\\bmon\\b|\\bmes\\b|chang|réinitialis|oubli|modifi|comment",
    user: "utilisateur",
    personal: "naissance|adresse|habite|vit|solde|initiales|préférée|résidence|mail",
    pose: "tu es maintenant|vous êtes maintenant|mode système|mode dieu|je suis votre développeur|je suis ton développeur|je suis dieu|agis comme|agissez comme|fais semblant|n'importe quoi maintenant",
    carrier: "fonction|page web|site web|curriculum|article|document|tableau|code",
    imagine: "imaginez|imaginons|supposons|supposez|disons que|dans un monde où|hypothétiquement",
    theirs:
      "votre mot de passe|ton mot de passe|vos mots de passe|date de naissance|ville de résidence|habite actuellement|vit actuellement",
    obey: "vous devez écouter|tu dois écouter|vous devez suivre|tu dois suivre|vous devez obéir|tu dois obéir|suivez mes instructions|suis mes instructions|je suis policier|je suis un policier|je suis un officier|je suis dieu",
  },
  spanish: {
    verb: "first",
    drop: "ignora|ignore las|ignore los|ignore lo|ignore todo|ignore todas|ignorar|ignoren|olvid|omite|omita las|haz caso omiso|descarta|no hagas caso|pasa por alto",
    told: "instruc|directric|órden|orden|indicac|regla|anterior|previ|lo que|de arriba|todo|todas",
    ask: "cuál es|cuáles son|dime|dame|decirme|puede|podría|compartir|comparta|confirmar|confirme la|confirma|confirmes|escrib|revela|necesito|traducir|dónde",
    secret: "contraseña|clave secreta|código secreto|frase secreta|palabra secreta",
    innocent: "\\bmi\\b|\\bmis\\b|cambi|restablec|olvid|cómo|segura",
    user: "usuario",
    personal: "nacimiento|correo|direcci|vive|viviendo|residencia|saldo|iniciales|favorito",
    pose: "modo sistema|modo dios|soy tu desarrollador|soy dios|eres ahora|ahora eres|actúa como|haz cualquier cosa|finge que|finge ser|a partir de ahora|se te ha instruido",
    carrier: "función|página web|sitio web|currículum|artículo|documento|tabla|código",
    imagine:
      "imagina que|imaginemos|imagínate|imagínese|supongamos|supón que|asumamos|digamos que|en un mundo donde|hipotéticamente",
    theirs:
      "tu contraseña|su contraseña|sus contraseñas|tus contraseñas|fecha de nacimiento|ciudad de residencia|ciudad actual|vive actualmente",
    obey: "debes escuchar|debe escuchar|debes seguir mis|debe seguir mis|debes obedecer|debe obedecer|sigue mis instrucciones|siga mis instrucciones|soy policía|soy un policía|soy un oficial|soy oficial|soy dios",
  },
  portuguese: {
    verb: "first",
    drop: "ignora|ignore as|ignore os|ignore o|ignore tudo|ignore todas|ignorar|esqueça|esquece|esqueçam|esqueca|desconsider|despreze|descarte",
    told: "instruç|diretriz|ordem|ordens|regras|anterior|prévi|acima|tudo|todas",
    ask: "qual é|quais são|diga|diz-me|dê-me|dá-me|pode|podes|partilh|compartilh|confirma|confirme a|escrev|revele|preciso|traduz|onde",
    secret: "senha|palavra-passe|palavras-passe|chave secreta|código secreto|frase secreta",
    innocent: "minha|mudar|alter|redefin|esqueci|como|segura",
    user: "utilizador|usuário",
    personal: "nascimento|email|e-mail|endereço|vive|mora|residência|saldo|iniciais|favorita",
    pose: "modo sistema|modo deus|modo de sistema|sou o teu desenvolvedor|sou seu desenvolvedor|sou deus|você agora é|agora és|aja como|faça qualquer coisa|a partir de agora",
    carrier: "função|página web|página da web|site|currículo|artigo|documento|tabela|código",
    imagine: "imagine que|suponha|suponhamos|vamos supor|num mundo onde|em um mundo onde|hipoteticamente",
    theirs:
      "tua senha|sua senha|a tua palavra-passe|sua palavra-passe|suas senhas|data de nascimento|cidade de residência|cidade atual|vive atualmente|mora atualmente",
    obey: "deve ouvir|deves ouvir|deve seguir minhas|deves seguir|deve obedecer|deves obedecer|siga minhas instruções|segue as minhas|sou policial|sou um policial|sou polícia|sou um agente|sou deus",
  },
  italian: {
    verb: "first",
    drop: "ignora|ignori|ignorate|ignorare|dimentica|scordati|trascura|non considerare",
    told: "istruz|direttiv|ordin|regol|precedent|quanto sopra|di cui sopra|tutto|tutte",
    ask: "qual è|quali sono|dimmi|dammi|dirmi|puoi|potete|potresti|condivid|conferm|scriv|rivel|traduc|dov'è|dove vive|dove abita",
    secret: "password|parola d'ordine|chiave segreta|codice segreto|frase segreta",
    innocent: "\\bmia\\b|cambi|reimpost|dimentic|come",
    user: "utente|utenti",
    personal: "nascita|email|indirizzo|vive|abita|residenza|saldo|iniziali|preferito",
    pose: "modalità sistema|modalità dio|modalità di sistema|modalità di manutenzione|sono il tuo sviluppatore|sono dio|ora sei|agisci come|fai finta|qualsiasi cosa ora|d'ora in poi",
    carrier: "funzione|pagina web|sito web|curriculum|articolo|documento|tabella|codice",
    imagine:
      "immagina|immaginate|immaginiamo|supponiamo|supponi|diciamo che|in un mondo in cui|in un mondo dove|ipoteticamente",
    theirs:
      "tua password|vostra password|sua password|tue password|data di nascita|città di residenza|città attuale|vive attualmente|abita attualmente",
    obey: "devi ascoltare|dovete ascoltare|devi seguire|dovete seguire|devi obbedire|segui le mie|seguire le mie|sono un poliziotto|sono un agente|sono un ufficiale|sono dio",
  },
  dutch: {
    verb: "first",
    drop: "negeer|vergeet|sla over",
    told: "instructie|opdracht|vorige|eerdere|bovenstaande|alles|regels",
  },
  polish: {
    verb: "first",
    drop: "zignoruj|ignoruj|zapomnij|pomiń",
    told: "instrukc|polece|poprzedni|wcześniejs|powyżs|wszystk|zasad",
  },
  swedish: {
    verb: "first",
    drop: "ignorera|glöm|bortse från",
    told: "instruktion|tidigare|föregående|ovanstående|allt|regler",
  },
  croatian: {
    verb: "first",
    drop: "zaboravi|ignoriraj|ignoriši|zanemari",
    told: "instrukcij|uput|prethodn|sve|pravil",
  },
  czech: {
    verb: "first",
    drop: "ignoruj|zapomeň|zapomeňte",
    told: "instrukc|pokyn|předchoz|výše|všechn|pravid",
  },
  russian: {
    verb: "first",
    drop: "игнорир|проигнорир|забудь|забудьте|не обращай внимания|пренебреги",
    told: "инструкц|указани|команд|предыдущ|вышеизлож|вышесказан|выше|правил|всё|все",
    ask: "какой|какова|скажи|дай|назови|напиши|подтверд|поделит|поделись|раскрой|можете|можешь|перевести|где",
    secret: "пароль|пароля|паролем|секретный ключ|секретный код|кодовое слово",
    innocent: "мой|моего|свой|измен|смен|сброс|забыл|как ",
    user: "пользовател",
    personal: "рожден|адрес|живет|живёт|баланс|инициал|любим|почт",
    pose: "системный режим|режим системы|режим бога|я твой разработчик|я ваш разработчик|я бог|ты теперь|теперь ты|вы теперь|с этого момента|действуй как|что угодно сейчас",
    carrier: "функци|веб-страниц|страниц|сайт|резюме|стать|документ|таблиц|код",
    imagine: "представь|предположим|допустим|вообрази|гипотетическ|в мире, где",
    theirs:
      "твой пароль|ваш пароль|своего пароля|свой пароль|твои пароли|ваши пароли|дату рождения|дата рождения|где живет|где живёт|город проживания|проживает",
    obey: "должны слушать|должен слушать|должны выполнять|должен выполнять|должны следовать|должен следовать|слушай мои|слушайте мои|мои инструкции|моим инструкциям|я полицейский|я бог|я сотрудник полиции",
  },
  greek: {
    verb: "first",
    drop: "αγνόησε|αγνοήστε|ξέχνα|ξεχάστε|παράβλεψε",
    told: "οδηγ|προηγ|παραπάνω|όλα|όλες|εντολ",
    ask: "ποιος είναι|πες|δώσε|μπορείς|μπορείτε|επιβεβαί|ποιο",
    secret: "κωδικό|κωδικός|συνθηματικ",
    innocent: "μου|αλλά|πώς",
    user: "χρήστη|χρήστης",
    personal: "γέννησ|διεύθυνσ|μένει|ζει|υπόλοιπο",
  },
  arabic: {
    verb: "first",
    drop: "تجاهل|انس|انسَ|انسى|تغاضى|تغاض|تناس",
    told: "تعليمات|توجيهات|السابق|ما سبق|أعلاه|القواعد|كل ما|ذلك",
    ask: "ما هو|ما هي|أخبرني|اخبرني|أعطني|اعطني|تؤكد|تأكيد|مشاركة|شارك|اكتب|قل لي|هل يمكنك|أين",
    secret: "كلمة المرور|كلمة السر|كلمة مرور|المفتاح السري|مفتاحك السري|الرقم السري",
    innocent: "تغيير|إعادة|نسيت|كيف",
    user: "المستخدم",
    personal: "ميلاد|عنوان|يعيش|رصيد|الأحرف|المفضل|البريد|إقامة",
    pose: "وضع النظام|وضع الله|أنا المطور|أنا مطور|أنا الله|أنت الآن|من الآن فصاعدا|تصرف ك|أي شيء الآن",
    carrier: "الدالة|الوظيفة|صفحة الويب|الصفحة|السيرة|المقال|الورقة|الجدول|الكود|الرمز",
    imagine: "تخيل|تخيلوا|لنفترض|افترض|في عالم|افتراضي|لنتخيل",
    theirs:
      "كلمة المرور الخاصة بك|كلمة مرورك|كلمات المرور|كلمة السر الخاصة بك|تاريخ ميلاد|تاريخ الميلاد|مدينة الإقامة|المدينة الحالية|يعيش حالي",
    obey: "يجب أن تستمع|عليك أن تستمع|يجب أن تتبع|عليك اتباع|اتبع تعليماتي|تعليماتي|أنا ضابط شرطة|أنا شرطي|أنا الله",
  },
  hindi: {
    verb: "last",
    drop: "अनदेखा|अनदेखी|भूल|नज़रअंदाज|नजरअंदाज|अवहेलना|उपेक्षा",
    told: "निर्देश|पिछले|पूर्व|ऊपर|उपरोक्त|सभी|जो भी|उसके बारे",
    ask: "क्या है|क्या था|बता|दें|दीजिए|साझा|पुष्टि|लिख|प्रदान|कहेंगे|अनुवाद|कहाँ|कहां|बताएं",
    secret: "पासवर्ड|पासफ्रेज़|गुप्त कुंजी|गुप्त कोड|कूटशब्द",
    innocent: "मेरा|मेरे|बदल|रीसेट|कैसे",
    user: "उपयोगकर्ता",
    personal: "जन्म|पते|पता|रह रहा|रहता|बैलेंस|शेष|पसंदीदा|प्रारंभिक|अक्षर|ईमेल|निवास",
    pose: "सिस्टम मोड|गॉड मोड|भगवान मोड|मैं आपका डेवलपर|मैं भगवान|अब आप|अब से आप|डीएएन|आपका निर्माता|ओवरराइड मोड",
    carrier: "फ़ंक्शन|फंक्शन|वेबपेज|वेबसाइट|रेज़्यूमे|लेख|पेपर|तालिका|कोड",
    imagine: "कल्पना|मान लीजिए|मान लें|मान लो|काल्पनिक",
    theirs:
      "आपका पासवर्ड|अपना पासवर्ड|आपके पासवर्ड|तुम्हारा पासवर्ड|जन्मतिथि|जन्म तिथि|जन्म की तारीख|निवास शहर|वर्तमान शहर",
    obey: "मेरे निर्देश|मेरी बात सुन|मैं एक पुलिस|मैं पुलिस|मैं भगवान|मैं ईश्वर|निर्देशों का पालन करना",
  },
  bengali: {
    verb: "last",
    drop: "উপেক্ষা|ভুলে|ভুলুন|অগ্রাহ্য|অবহেলা",
    told: "নির্দেশ|আগের|উপরের|পূর্ববর্তী|সব|যা বলা",
    ask: "কি|কী|বল|দিন|দাও|নিশ্চিত|শেয়ার|লিখ|কোথায়",
    secret: "পাসওয়ার্ড|গোপন কী|গোপন চাবি|গোপন কোড",
    innocent: "আমার|পরিবর্তন|রিসেট|কিভাবে|কীভাবে",
    user: "ব্যবহারকারী",
    personal: "জন্ম|ঠিকানা|থাকে|ব্যালেন্স|প্রিয়|ইমেইল|আদ্যক্ষর",
    pose: "সিস্টেম মোড|গড মোড|ঈশ্বর মোড|আমি আপনার ডেভেলপার|আমি ঈশ্বর|আপনি এখন",
    carrier: "ফাংশন|ওয়েবপেজ|ওয়েবসাইট|জীবনবৃত্তান্ত|নিবন্ধ|টেবিল|কোড",
    imagine: "কল্পনা|ধরুন|ধরা যাক|মনে করুন|অনুমান কর|কাল্পনিক",
    theirs: "আপনার পাসওয়ার্ড|তোমার পাসওয়ার্ড|জন্ম তারিখ|জন্মতারিখ|বাসস্থান|বর্তমান শহর",
    obey: "আমার নির্দেশ|আমার কথা শুন|আমি একজন পুলিশ|আমি পুলিশ|আমি ঈশ্বর|ড্যান নামে",
  },
  turkish: {
    verb: "last",
    drop: "yok say|unut|görmezden|göz ardı|dikkate alma|boş ver",
    told: "talimat|önceki|yukarıda|tüm|bütün|kurallar|her şeyi|bunu",
    ask: "nedir|söyle|ver|onayla|paylaş|yaz|açıkla|doğrula|çevir|neydi|ne olur|nerede|misin",
    secret: "şifre|parolan|parolayı|gizli anahtar|gizli kod",
    innocent: "şifremi|parolamı|değiştir|sıfırla|unuttum|nasıl",
    user: "kullanıcı",
    personal: "doğum|adres|yaşıyor|oturuyor|bakiye|baş harf|favori|en sevdiği|e-posta",
    pose: "sistem modu|tanrı modu|senin geliştirici|ben tanrı|şimdi sen|artık sen|bundan sonra|gibi davran|her şeyi yap",
    carrier: "fonksiyon|işlev|web sayfası|web sayfasını|özgeçmiş|makale|belge|tablo|kodu",
    imagine: "hayal et|hayal edin|varsayalım|diyelim ki|farz|hipotez|bir dünyada|olduğumuzu hayal",
    theirs: "şifreniz|şifren nedir|parolanız|parolan nedir|doğum tarih|yaşadığı şehr|ikamet|şu anki şehr",
    obey: "talimatlarımı|beni dinle|sözümü dinle|ben bir polis|polis memuruyum|ben tanrı",
  },
  japanese: {
    verb: "last",
    drop: "無視|忘れて|忘れろ|従わない",
    told: "指示|命令|上記|以前|これまで|前の|事前|説明|ルール|すべて|全て",
    ask: "について|何です|何だ|何で|教えて|ください|下さい|確認|共有|書いて|言って|どこ|もらえ",
    secret: "パスワード|秘密鍵|秘密の鍵|シークレットキー|合言葉|暗証番号",
    innocent: "変更|リセット|忘れ|方法|私の",
    user: "ユーザー",
    personal: "生年|誕生|住所|住んで|残高|メールアドレス|イニシャル|好きな",
    pose: "システムモード|ゴッドモード|神モード|私はあなたの開発者|私は神|あなたは今から|これからあなたは|として振る舞|オーバーライドモード",
    carrier: "関数|ウェブページ|ウェブサイト|履歴書|記事|論文|表を|コード",
    imagine: "と仮定|としましょう|仮に|仮定の",
    theirs: "あなたのパスワード|君のパスワード|生年月日|誕生日を|現在住んで|居住地|住んでいる都市",
    obey: "私の指示|私の命令|私の言うこと|私は警察|私は神",
  },
  korean: {
    verb: "last",
    drop: "무시|잊어|잊으|따르지",
    told: "지시|명령|지침|이전|위의|위에|앞의|모든|규칙",
    ask: "무엇|뭐|알려|말해|말씀|주세요|확인|공유|써|작성|어디",
    secret: "비밀번호|암호|비밀 키|비밀키|패스워드|비밀 코드",
    innocent: "변경|재설정|잊|어떻게|방법",
    user: "사용자",
    personal: "생년|생일|주소|살고|사는|잔고|잔액|이니셜|좋아하는|이메일",
    pose: "시스템 모드|갓 모드|신 모드|나는 너의 개발자|저는 당신의 개발자|나는 신|이제 너는|당신은 이제|지금부터 너는",
    carrier: "함수|웹페이지|웹 페이지|웹사이트|이력서|기사|논문|표를|코드",
    imagine: "상상해|상상하|가정해|가정하|라고 치자|가정적",
    theirs: "당신의 비밀번호|너의 비밀번호|네 비밀번호|당신의 암호|생년월일|거주 도시|거주도시|거주지",
    obey: "내 지시|제 지시|나의 지시|내 말을|나는 경찰|저는 경찰|나는 신",
  },
  chinese: {
    verb: "first",
    drop: "忽略|无视|無視|忘记|忘記|忘掉|忽视|不要理会|不用理会|不要遵守|别管",
    told: "指示|指令|说明|說明|以上|之前|先前|前面|上述|规则|規則|提示|命令|所有|一切",
    ask: "告诉|告訴|给我|給我|什么|什麼|确认|確認|提供|分享|写|透露|说出|是什|哪里",
    secret: "密码|密碼|口令|密钥|密鑰|暗号|系统提示词",
    innocent: "修改|更改|重置|忘|怎么|如何|我的",
    user: "用户|用戶",
    personal: "生日|出生|住址|地址|住在|余额|邮箱|喜欢|姓名|首字母",
    pose: "系统模式|上帝模式|我是上帝|我是你的开发|你现在是|从现在开始你|你必须回答|扮演",
    carrier: "函数|函數|网页|網頁|网站|简历|文章|论文|表格|代码",
    imagine: "想象|想像|假设|假設|假如我们|假定",
    theirs: "你的密码|您的密码|你的密碼|您的密碼|出生日期|居住城市|居住的城市|目前居住|现居",
    obey: "听我的|聽我的|我的指示|我的指令|服从我|我是警察|我是警官|我是上帝",
  },
  vietnamese: {
    verb: "first",
    drop: "bỏ qua|quên|phớt lờ|lờ đi|đừng quan tâm",
    told: "hướng dẫn|chỉ dẫn|chỉ thị|trước|ở trên|bên trên|tất cả|mọi|quy tắc",
    ask: "là gì|cho tôi|cho biết|nói|cung cấp|chia sẻ|xác nhận|viết|đâu|có thể",
    secret: "mật khẩu|khóa bí mật|mã bí mật",
    innocent: "của tôi|thay đổi|đổi|đặt lại|quên|làm thế nào",
    user: "người dùng",
    personal: "sinh|địa chỉ|sống|số dư|yêu thích|email|chữ cái",
    pose: "chế độ hệ thống|chế độ thần|tôi là nhà phát triển|tôi là chúa|bây giờ bạn là|bạn bây giờ là|từ giờ",
    carrier: "hàm|trang web|website|sơ yếu|bài viết|bài báo|bảng|mã",
    imagine: "hãy tưởng tượng|tưởng tượng|giả sử|giả định|trong một thế giới",
    theirs: "mật khẩu của bạn|mật khẩu của anh|ngày sinh|thành phố cư trú|thành phố hiện tại|đang sống",
    obey: "nghe theo|phải nghe|làm theo hướng dẫn của tôi|tuân theo tôi|tôi là cảnh sát|tôi là một cảnh sát|tôi là chúa",
  },
  indonesian: {
    verb: "first",
    drop: "abaikan|lupakan|hiraukan|jangan hiraukan",
    told: "instruksi|perintah|arahan|petunjuk|sebelum|di atas|diatas|semua|aturan",
    ask: "apa kata|apa sandi|apakah|berikan|katakan|beritahu|bagikan|konfirmasi|tulis|di mana|dimana|bisakah",
    secret: "kata sandi|sandi|kunci rahasia|kode rahasia",
    innocent: "saya lupa|ubah|ganti|reset|bagaimana|cara",
    user: "pengguna",
    personal: "lahir|alamat|tinggal|saldo|inisial|favorit|email",
    pose: "modus sistem|mode sistem|modus tuhan|mode tuhan|saya pengembang|aku pengembang|saya adalah tuhan|sekarang kamu adalah|sekarang anda adalah|mulai sekarang",
    carrier: "fungsi|halaman web|situs web|resume|artikel|makalah|tabel|kode",
    imagine: "bayangkan|misalkan|anggaplah|anggap saja|katakanlah|andaikan|di dunia di mana|secara hipotetis",
    theirs:
      "kata sandi anda|kata sandi kamu|kata sandimu|sandi anda|tanggal lahir|kota tempat tinggal|kota saat ini|tinggal saat ini",
    obey: "mendengarkan instruksiku|mendengarkan instruksi saya|harus mendengarkan|ikuti instruksiku|ikuti instruksi saya|perintah saya|saya seorang polisi|saya polisi|aku polisi|aku tuhan|saya tuhan",
  },
  tagalog: {
    verb: "first",
    drop: "huwag pansinin|balewalain|kalimutan|ipagwalang-bahala|huwag mong pansinin",
    told: "tagubilin|utos|naunang|nauna|nakaraan|nasa itaas|lahat|instruksi|panuntunan|instruksyon",
    ask: "ano ang|ano po|sabihin|ibigay|ibahagi|kumpirmahin|isulat|nasaan|saan nakatira|maaari mo",
    secret: "password|lihim na susi|secret key|lihim na code",
    innocent: "baguhin|palitan|paano|i-reset|nakalimutan",
    user: "gumagamit",
    personal: "kapanganakan|tirahan|nakatira|balanse|paborito|email|kaarawan",
    pose: "mode ng sistema|ako ang iyong developer|ako ang diyos|ikaw na ngayon|mula ngayon|anumang bagay ngayon",
    carrier: "function|webpage|website|resume|artikulo|papel|talahanayan|code",
    imagine: "isipin na|isipin mo|ipagpalagay|sabihin natin na|sa isang mundo|hypothetical na",
    theirs:
      "iyong password|inyong password|password mo|petsa ng kapanganakan|lungsod ng tirahan|kasalukuyang lungsod",
    obey: "makinig ka sa|dapat kang makinig|sundin ang aking|sundin mo ang|isa akong pulis|ako ay pulis|ako ay isang pulis|ako ang diyos|diyos ako",
  },
  thai: {
    verb: "first",
    drop: "ละเว้น|เพิกเฉย|ลืม|ไม่ต้องสนใจ|อย่าไปสนใจ|อย่าสนใจ|มองข้าม|ไม่สนใจ",
    told: "คำสั่ง|คําสั่ง|คำแนะนำ|คําแนะนํา|ก่อนหน้า|ข้างต้น|ทั้งหมด|ด้านบน|กฎ",
    ask: "คืออะไร|บอก|ให้ฉัน|ยืนยัน|แบ่งปัน|เขียน|ที่ไหน|อะไร",
    secret: "รหัสผ่าน|รหัสลับ|กุญแจลับ|คีย์ลับ",
    innocent: "เปลี่ยน|รีเซ็ต|ลืม|อย่างไร|ยังไง",
    user: "ผู้ใช้",
    personal: "เกิด|ที่อยู่|อาศัย|อยู่ที่|ยอดเงิน|อีเมล|โปรด|ชื่อย่อ",
    pose: "โหมดระบบ|โหมดพระเจ้า|ฉันเป็นผู้พัฒนา|ฉันเป็นพระเจ้า|ตอนนี้คุณเป็น|ตอนนี้คุณคือ|โหมดบังคับ",
    carrier: "ฟังก์ชัน|เว็บเพจ|เว็บไซต์|หน้าเว็บ|ประวัติย่อ|บทความ|ตาราง|โค้ด|รหัสนี้",
    imagine: "ลองนึกภาพ|จินตนาการ|สมมติ|สมมุติ",
    theirs: "รหัสผ่านของคุณ|วันเกิด|วันเดือนปีเกิด|เมืองที่อยู่|อาศัยอยู่",
    obey: "คําสั่งของฉัน|คำสั่งของฉัน|ฟังฉัน|ฉันเป็นตำรวจ|ฉันเป็นตํารวจ|ฉันเป็นเจ้าหน้าที่ตำรวจ|ฉันคือพระเจ้า",
  },
};
