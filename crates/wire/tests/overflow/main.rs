//! The corpus of errors: each row and look-alike of `docs/reference/overflow.md`, bare and in every
//! wrapping that gateways put around it.

mod look_alikes;
mod properties;
mod rows;
mod silent;
mod windows;

use epitome_core::Tokens;
use epitome_wire::overflow::{ErrorPlace, OverflowClass, OverflowFigures, RequestFacts, classify};

/// One error: where it was met, what it says, and what it must be taken for.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) status: u16,
    pub(crate) body: &'static str,
    pub(crate) class: OverflowClass,
    pub(crate) numbers: OverflowFigures,
}

/// Tests by name, and all of them as a table: `row_1_…: 400 "body" => TokenOverflow { window: 200_000 };`
macro_rules! cases {
    ($($name:ident: $status:literal $body:literal => $class:ident { $($field:ident: $number:literal),* };)*) => {
        pub(crate) fn all() -> Vec<crate::Case> {
            vec![$(crate::Case {
                name: stringify!($name),
                status: $status,
                body: $body,
                class: epitome_wire::overflow::OverflowClass::$class,
                numbers: epitome_wire::overflow::OverflowFigures {
                    $($field: Some($number.into_number()),)*
                    ..Default::default()
                },
            }),*]
        }
        $(
            #[test]
            fn $name() {
                crate::check(all().into_iter().find(|case| case.name == stringify!($name)).expect("it is in the table"));
            }
        )*
    };
}
pub(crate) use cases;

/// Numbers of the table, in the type their field has.
pub(crate) trait IntoNumber<T> {
    fn into_number(self) -> T;
}

impl IntoNumber<Tokens> for u64 {
    fn into_number(self) -> Tokens {
        Tokens(self)
    }
}

impl IntoNumber<u64> for u64 {
    fn into_number(self) -> u64 {
        self
    }
}

/// Bare and in each wrapping, the error is taken for the same.
fn check(case: Case) {
    let status = ErrorPlace::Status(case.status);
    let expected = (case.class, case.numbers);
    let taken_for = |seen, body: &str| {
        let verdict = classify(seen, body.as_bytes(), &RequestFacts::default());
        (verdict.class, verdict.numbers)
    };
    assert_eq!(taken_for(status, case.body), expected, "bare");
    assert_eq!(taken_for(status, &wrapped(case.body)), expected, "as a string in another error");
    assert_eq!(taken_for(status, &wrapped(&wrapped(case.body))), expected, "in two other errors");
    assert_eq!(taken_for(status, &in_array(case.body)), expected, "in an array");
    assert_eq!(
        taken_for(status, &format!("Provider error: [400] {}", case.body)),
        expected,
        "behind a prefix"
    );
    assert_eq!(taken_for(status, &case.body.to_uppercase()), expected, "in capitals");
    let event = format!("event: error\ndata: {}\n\n", case.body);
    assert_eq!(taken_for(ErrorPlace::InStream, &event), expected, "in an event");
    assert_eq!(taken_for(ErrorPlace::InStream, case.body), expected, "as the data of an event");
}

fn wrapped(body: &str) -> String {
    format!(r#"{{"error":{{"message":{}}}}}"#, as_string(body))
}

fn in_array(body: &str) -> String {
    let is_json = serde_json::from_str::<serde_json::Value>(body).is_ok();
    format!("[{}]", if is_json { body.to_owned() } else { as_string(body) })
}

fn as_string(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written as JSON")
}

#[test]
fn no_case_is_there_twice_and_every_row_has_one() {
    let names: Vec<&str> = rows::all().iter().map(|case| case.name).collect();
    let has = |start: String| names.iter().any(|name| name.starts_with(&start));
    // Rows 4, 16, 24, 36, 37 and 44 are replies that succeed, row 31 has no body: they are tested apart.
    let apart = [4, 16, 24, 31, 36, 37, 44];
    let missing: Vec<u8> =
        (1..=53).filter(|row| !apart.contains(row) && !has(format!("row_{row}_"))).collect();
    assert_eq!(missing, Vec::<u8>::new());
}
