//! One kind of damage at a time, in every format of lines.

use super::{file, problems, read_bytes, told};
use epitome_core::{Archive, Author, EntryId, Message, Role};
use epitome_wire::{Format, Transcript, native};

/// Three messages, `one`, `two` and `three`, each on a line of its own, in a format.
struct Sample {
    format: Format,
    /// Lines before the first message.
    head: Vec<String>,
    messages: [String; 3],
}

fn samples() -> Vec<Sample> {
    let claude = |kind: &str, uuid: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","message":{{"content":"{text}"}}}}"#
        )
    };
    let codex = |role: &str, text: &str| {
        let message = format!(
            r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#
        );
        format!(r#"{{"timestamp":"t","type":"response_item","payload":{message}}}"#)
    };
    let pi = |id: &str, parent: &str, role: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"{role}","content":"{text}"}}}}"#
        )
    };
    let copilot =
        |kind: &str, text: &str| format!(r#"{{"type":"{kind}","data":{{"content":"{text}"}},"id":"e"}}"#);
    vec![
        Sample {
            format: Format::ClaudeCode,
            head: Vec::new(),
            messages: [
                claude("user", "u1", "null", "one"),
                claude("assistant", "a1", r#""u1""#, "two"),
                claude("user", "u2", r#""a1""#, "three"),
            ],
        },
        Sample {
            format: Format::Codex,
            head: Vec::new(),
            messages: [codex("user", "one"), codex("assistant", "two"), codex("user", "three")],
        },
        Sample {
            format: Format::Pi,
            head: vec![r#"{"type":"session","version":3,"id":"s"}"#.into()],
            messages: [
                pi("1", "null", "user", "one"),
                pi("2", r#""1""#, "assistant", "two"),
                pi("3", r#""2""#, "user", "three"),
            ],
        },
        Sample {
            format: Format::CopilotCli,
            head: Vec::new(),
            messages: [
                copilot("user.message", "one"),
                copilot("assistant.message", "two"),
                copilot("user.message", "three"),
            ],
        },
    ]
}

/// All that was said, in the order of the log.
fn said(transcript: &Transcript) -> Vec<String> {
    let conversation = &transcript.conversations[0];
    let ids = (0..conversation.log.len() as u32).map(EntryId);
    let messages = ids.filter(|id| conversation.log.item(*id).is_some());
    messages.map(|id| told(&conversation.originals.message(id).expect("it can be read again"))).collect()
}

/// Reads each sample with its second message damaged, and sees what is left and what is told of it first.
fn assert_left(damage: impl Fn(&mut Vec<Vec<u8>>, usize), left: &[&str], what: &str) {
    for Sample { format, head, messages } in samples() {
        let mut lines: Vec<Vec<u8>> =
            head.iter().chain(&messages).map(|line| line.clone().into_bytes()).collect();
        let second = head.len() + 1;
        damage(&mut lines, second);
        let transcript = read_bytes(format, lines.join(&b'\n'));
        assert_eq!(said(&transcript), left, "{format}: {what}");
        let told = problems(&transcript).first().cloned().unwrap_or_default();
        assert_eq!(told, format!("{}: {what}", second + 1), "{format}");
    }
}

fn replace(line: &mut Vec<u8>, this: &str, by: &[u8]) {
    let at = line.windows(this.len()).position(|run| run == this.as_bytes()).expect("it is in the line");
    line.splice(at..at + this.len(), by.iter().copied());
}

#[test]
fn half_a_surrogate_pair_loses_nothing_but_itself() {
    let what = "holds half a character, as a text cut inside an emoji does; shown as \u{fffd}";
    let halves: [&[u8]; 2] = [br"two \ud83d", br"two \uDE00"];
    for half in halves {
        let cut = |lines: &mut Vec<Vec<u8>>, second: usize| replace(&mut lines[second], "two", half);
        assert_left(cut, &["one", "two \u{fffd}", "three"], what);
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    let what = "is not UTF-8 throughout; what cannot be read is shown as \u{fffd}";
    let spoil = |lines: &mut Vec<Vec<u8>>, second: usize| replace(&mut lines[second], "two", b"two\xff");
    assert_left(spoil, &["one", "two\u{fffd}", "three"], what);
}

#[test]
fn zeros_before_a_line_are_passed_over() {
    let what = "holds zero bytes, as a disk leaves where it lost something; what else is there is taken";
    let zeros = |lines: &mut Vec<Vec<u8>>, second: usize| {
        lines[second].splice(0..0, [0; 512]);
    };
    assert_left(zeros, &["one", "two", "three"], what);
}

#[test]
fn of_half_a_line_and_a_whole_one_the_whole_one_is_taken() {
    let what = "is damaged; the whole records in it are taken, the rest is left out";
    let mix = |lines: &mut Vec<Vec<u8>>, second: usize| {
        let whole = lines.remove(second + 1);
        let half = lines[second].len() / 2;
        lines[second].splice(half.., whole);
    };
    assert_left(mix, &["one", "three"], what);
}

#[test]
fn a_last_line_cut_off_is_left_out() {
    let what = "is cut off, as a last line is while it is written; the file is taken up to it";
    let cut = |lines: &mut Vec<Vec<u8>>, second: usize| {
        lines.truncate(second + 1);
        let half = lines[second].len() / 2;
        lines[second].truncate(half);
    };
    assert_left(cut, &["one"], what);
}

#[test]
fn lines_that_are_no_records_are_counted_and_the_first_is_named() {
    let what = "is JSON, but no record; left out (2 such lines, this the first)";
    let foreign = |lines: &mut Vec<Vec<u8>>, second: usize| {
        lines.splice(second..=second, [b"[1, 2]".to_vec(), b"\"two\"".to_vec()]);
    };
    assert_left(foreign, &["one", "three"], what);
    let what = "is not JSON; left out (2 such lines, this the first)";
    let garbage = |lines: &mut Vec<Vec<u8>>, second: usize| {
        lines.splice(second..=second, [b"<<<<<<< HEAD".to_vec(), b"=======".to_vec()]);
    };
    assert_left(garbage, &["one", "three"], what);
}

#[test]
fn a_record_whose_type_is_no_text_is_counted() {
    let what = "cannot be read (invalid type: integer `7`, expected a string); left out";
    let wrong = |lines: &mut Vec<Vec<u8>>, second: usize| lines[second] = br#"{"type":7}"#.to_vec();
    assert_left(wrong, &["one", "three"], what);
}

/// A damaged spot on the first line, or zeros before it, and the format is found all the same.
#[test]
fn a_damaged_first_line_does_not_hide_the_format() {
    for Sample { format, head, messages } in samples() {
        let lines: Vec<String> = head.into_iter().chain(messages).collect();
        let whole = file(&lines);
        let mut spoilt = whole.clone();
        spoilt[2] = 0xff;
        for bytes in [spoilt, [&[0; 100], &whole[..]].concat()] {
            assert_eq!(epitome_wire::detect(&[], &bytes).expect("a later line tells"), format);
        }
    }
}

#[test]
fn an_entry_of_our_own_form_is_mended_too_and_that_is_told() {
    let message = Message::text(Role::User, Author::Person, "two HALF");
    let mut bytes = native::wrap(Format::Native, 0, 1);
    bytes.push(b'\n');
    for message in [&Message::text(Role::User, Author::Person, "one"), &message] {
        bytes.extend(native::message_line(0, None, message));
    }
    replace(&mut bytes, "HALF", br"\ud83d");
    let transcript = read_bytes(Format::Native, bytes);
    assert_eq!(said(&transcript), ["one", "two \u{fffd}"]);
    let what = "added entry 2 holds what is no text, shown as \u{fffd}";
    assert_eq!(problems(&transcript), [what]);
}
