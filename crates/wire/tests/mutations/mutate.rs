//! Ways to damage a file, each the same for the same dice.

use serde_json::{Number, Value, json};

/// Dice that fall the same way every time (Vigna's SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }
}

/// The file with one to three things wrong with it.
pub(crate) fn damage(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..=dice.below(3) {
        damaged = match dice.below(3) {
            0 => hurt_bytes(damaged, dice),
            1 => hurt_lines(&damaged, dice),
            _ => hurt_value(&damaged, dice),
        };
    }
    damaged
}

fn hurt_bytes(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    let at = dice.below(bytes.len());
    let end = (at + 1 + dice.below(64)).min(bytes.len());
    match dice.below(5) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes.truncate(at),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        _ => {
            let junk = [&b"\xff"[..], b"\0", b"\n", b"}{", b"\"", b"\\ud800", b"\xed\xa0\x80", b"\r\n"];
            let piece = junk[dice.below(junk.len())];
            bytes.splice(at..at, piece.iter().copied());
        }
    }
    bytes
}

fn hurt_lines(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(5) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one]),
        2 => lines.swap(one, other),
        3 => lines[one] = lines[one].strip_suffix(b"\n").unwrap_or(lines[one]),
        _ => lines.truncate(one),
    }
    lines.concat()
}

/// Changes one value of one line, or of the document.
fn hurt_value(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let at = dice.below(lines.len());
    if let Ok(mut value) = serde_json::from_slice::<Value>(&lines[at]) {
        let places = places(&value);
        let (one, other) = (dice.below(places.len()), dice.below(places.len()));
        let given = value.pointer(&places[other]).cloned().unwrap_or_default();
        if let Some(place) = value.pointer_mut(&places[one]) {
            *place = odd_value(place, given, dice);
        }
        lines[at] = line_of(&value);
    }
    lines.concat()
}

/// Something a tool would not have written there; `given` stands elsewhere in the same value.
fn odd_value(old: &Value, given: Value, dice: &mut Dice) -> Value {
    match dice.below(10) {
        0 => Value::Null,
        1 => json!(u64::MAX),
        2 => json!(-1),
        3 => Number::from_f64(1e308).map_or(Value::Null, Value::Number),
        4 => json!(""),
        5 => json!([]),
        6 => json!({}),
        7 => json!([old, old]),
        8 => (0..100).fold(Value::Null, |inner, _| json!([inner])),
        _ => given,
    }
}

/// The file once for each kind of place in it, with nothing there.
pub(crate) fn with_nulls(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
        for place in places(&value).into_iter().filter(|place| seen.insert(kind_of(&value, place))) {
            let mut changed = value.clone();
            if let Some(place) = changed.pointer_mut(&place) {
                *place = Value::Null;
            }
            let mut copy: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
            copy[at] = line_of(&changed);
            all.push(copy.concat());
        }
    }
    all
}

/// Places of one kind differ only in their numbers; the value's own type tells records apart.
fn kind_of(value: &Value, place: &str) -> String {
    let steps = place.split('/').map(|step| if step.parse::<usize>().is_ok() { "#" } else { step });
    let kind = ["/type", "/mark/mark", "/entry/entry"].into_iter().find_map(|at| value.pointer(at)?.as_str());
    let kind = kind.unwrap_or_default();
    format!("{kind}:{}", steps.collect::<Vec<_>>().join("/"))
}

/// The JSON pointers of everything in a value, itself first.
fn places(value: &Value) -> Vec<String> {
    fn walk(value: &Value, here: &str, all: &mut Vec<String>) {
        all.push(here.to_owned());
        match value {
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at, inner)| walk(inner, &format!("{here}/{at}"), all));
            }
            Value::Object(fields) => {
                let step = |key: &str| key.replace('~', "~0").replace('/', "~1");
                fields.iter().for_each(|(key, inner)| walk(inner, &format!("{here}/{}", step(key)), all));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut all = Vec::new();
    walk(value, "", &mut all);
    all
}

fn line_of(value: &Value) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("a value is JSON");
    line.push(b'\n');
    line
}
