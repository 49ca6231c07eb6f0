//! The page that tells what was seen: a row for each setting, a column for each door.

use crate::cases::{CASES, Case};
use crate::observed::Difference;
use epitome_settings::Door;
use epitome_settings::schema::Key;

/// What a setting comes to behind a door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// It changes this.
    Changes(Vec<Difference>),
    /// It is refused.
    Refused,
    /// It is declared, and nothing shows it yet.
    Unproven,
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Changes(all) => all.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "),
            Self::Refused => "refused".into(),
            Self::Unproven => "not shown yet".into(),
        }
    }
}

const HEAD: &str = "\
# Keys and doors

Each setting was changed behind each command that compacts, in a small session made for it, and what differed is written here: the
*context* (a request body of the session's model), a *request* to the summariser, a *record* of a compaction, an *event* (what the
operator or a hook is told). Where a command does not look at a setting, it was set there by a flag and in the environment, and
*refused* with a sentence that names the commands where it works.

[settings.md](settings.md) says what may be written. This page is made by a test that fails where a setting changes nothing behind a
door it declares: `EPITOME_UPDATE=1 make test-doors` writes it. The cases are in
`crates/epitome/tests/keys_and_doors/cases.rs`.

| key | what it says | changed | compact | replay | serve |
|---|---|---|---|---|---|
";

/// The page; three cells for each key.
pub(crate) fn page(keys: &[&Key], cells: &[Cell]) -> String {
    let rows = keys.iter().zip(cells.chunks(Door::ALL.len())).map(|(key, cells)| row(key, cells));
    HEAD.to_owned() + &rows.collect::<String>()
}

fn row(key: &Key, cells: &[Cell]) -> String {
    let mut changes: Vec<String> = CASES.iter().filter(|case| case.key == key.name).map(change).collect();
    changes.dedup();
    let cells: Vec<String> = cells.iter().map(Cell::text).collect();
    // The sentence stands in settings.md too, whose own headings it names.
    let about = key.about.replace("](#", "](settings.md#");
    format!("| `{}` | {about} | {} | {} |\n", key.name, changes.join("; "), cells.join(" | "))
}

fn change(case: &Case) -> String {
    let value = |text: &str| if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") };
    format!("{} → {}", value(case.from), value(case.to))
}
