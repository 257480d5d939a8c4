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
  },
};
