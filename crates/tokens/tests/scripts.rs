//! Estimates of every script and kind of text, against the tokenizers they stand in for.

use epitome_tokens::{Counter, Encoding, Family, estimate};

const TEXTS: [(&str, &str); 17] = [
    (
        "prose",
        "When a session grows too long, something has to go. Most programs drop the oldest messages and \
         hope that nothing of value was in them. It is better to decide what matters, to keep it word for \
         word, and to say plainly what was left out and where it can still be found.",
    ),
    (
        "markdown",
        "## Next steps\n\n- [x] Read `src/main.rs` and **fix** the parser\n- [ ] Run the tests (`make test`)\n\
         - [ ] See [the guide](docs/guide.md#install) for details\n\n> Note: the API changed in **v2.1**.\n",
    ),
    (
        "rust",
        "fn find_cut(history: &History, keep: Tokens) -> Option<Cut> {\n    let mut kept = Tokens(0);\n    \
         for entry in history.entries().rev() {\n        kept += entry.tokens();\n        if kept > keep {\n            \
         return Some(Cut::Between { keep_from: entry.id });\n        }\n    }\n    None\n}\n",
    ),
    (
        "python",
        "def load(path, *, strict=False):\n    with open(path, encoding=\"utf-8\") as handle:\n        \
         rows = [json.loads(line) for line in handle if line.strip()]\n    if strict and not rows:\n        \
         raise ValueError(f\"{path}: no rows\")\n    return {row[\"id\"]: row for row in rows}\n",
    ),
    (
        "json",
        r#"{"type":"tool_use","id":"toolu_01AbCdEf","name":"Edit","input":{"file_path":"/home/me/app/src/lib.rs","old_string":"let x = 1;","new_string":"let x = 2;","replace_all":false}}"#,
    ),
    (
        "html",
        "<div class=\"card\"><h2>Title</h2><p>Some <b>bold</b> text &amp; a <a href=\"/link\">link</a></p>\
         <ul><li>One</li><li>Two</li></ul></div>\n",
    ),
    (
        "log",
        "2026-01-28T22:26:41.871Z INFO  server: listening on 127.0.0.1:7117 (pid 4242)\n\
         2026-01-28T22:26:43.002Z WARN  store: slow query took 1834 ms, 20113 rows\n\
         drwxr-xr-x 13 root root 4096 Nov 15 05:51 target\n",
    ),
    (
        "base64",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg9Zx8Qk2LmT",
    ),
    (
        "chinese",
        "我先看一下 `src/store.rs` 里的实现：压缩在上下文用完之前触发，摘要写入会话，旧条目被标记为已取代。测试 compact_keeps_pairs 失败，原因是工具结果与调用被拆开；需要修改切分逻辑，并补上回归用例。",
    ),
    (
        "japanese",
        "コンテキストウィンドウがいっぱいになる前に会話を圧縮する必要があります。重要な決定とファイルのパスは必ず残してください。まず設定ファイルを読んでから、テストを実行してください。",
    ),
    (
        "korean",
        "컨텍스트 창이 가득 차기 전에 대화를 압축해야 합니다. 중요한 결정과 파일 경로는 반드시 남겨 두세요. 먼저 설정 파일을 읽고 테스트를 실행한 다음 결과를 알려 주세요.",
    ),
    (
        "russian",
        "Прежде чем окно контекста заполнится, нужно сжать разговор и сохранить важные решения и пути к файлам. \
         Сначала прочитайте файл настроек, затем запустите все тесты и расскажите о результатах.",
    ),
    (
        "arabic",
        "فشل الاختبار compact_keeps_pairs لأن نتيجة الأداة انفصلت عن استدعائها في الملف src/store.rs، لذلك سأعدّل منطق التقسيم وأضيف اختبارا يثبت الإصلاح ثم أشغّل جميع الاختبارات من جديد.",
    ),
    (
        "hebrew",
        "לפני שחלון ההקשר מתמלא צריך לדחוס את השיחה ולשמור את ההחלטות החשובות ואת נתיבי הקבצים. קודם קראו את קובץ ההגדרות ואז הריצו את כל הבדיקות.",
    ),
    (
        "hindi",
        "संदर्भ विंडो भरने से पहले बातचीत को संक्षिप्त करना चाहिए और महत्वपूर्ण निर्णय तथा फ़ाइल पथ सुरक्षित रखने चाहिए। पहले सेटिंग फ़ाइल पढ़ें और फिर सभी परीक्षण चलाएँ।",
    ),
    (
        "thai",
        "ก่อนที่หน้าต่างบริบทจะเต็มเราต้องย่อการสนทนาและเก็บการตัดสินใจที่สำคัญกับเส้นทางไฟล์ไว้ กรุณาอ่านไฟล์การตั้งค่าก่อนแล้วจึงรันการทดสอบทั้งหมด",
    ),
    (
        "german",
        "Bevor das Kontextfenster voll ist, muss das Gespräch verdichtet werden; wichtige Entscheidungen und \
         Dateipfade bleiben dabei erhalten. Lies zuerst die Einstellungen und führe danach alle Prüfungen aus.",
    ),
];

/// How far an estimate is off, in percent.
fn error(encoding: Encoding, text: &str) -> f64 {
    let exact = Counter::exact(encoding).count_text(text) as f64;
    (estimate(encoding.family(), text) as f64 / exact - 1.0) * 100.0
}

fn worst(encoding: Encoding) -> (&'static str, f64) {
    let errors = TEXTS.map(|(kind, text)| (kind, error(encoding, text)));
    errors.into_iter().max_by(|one, other| one.1.abs().total_cmp(&other.1.abs())).expect("there are texts")
}

#[test]
fn every_kind_of_text_is_estimated_within_a_quarter() {
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        let (kind, percent) = worst(encoding);
        assert!(percent.abs() <= 25.0, "{kind} is off by {percent:.0} % in {}", encoding.name());
    }
}

#[test]
fn a_newer_claude_takes_a_quarter_to_a_half_more_than_an_older_one() {
    for (kind, text) in TEXTS {
        let ratio = estimate(Family::Claude47, text) as f64 / estimate(Family::Claude, text) as f64;
        assert!((1.2..1.5).contains(&ratio), "{kind}: {ratio:.2}");
    }
}
