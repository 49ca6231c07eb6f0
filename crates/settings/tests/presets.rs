//! Every built-in preset as the whole it stands for, compared with a committed page: a value that changes
//! because the base below it changed is seen as well. `INSTA_UPDATE=always` writes the page anew.

use epitome_settings::{preset, schema};
use std::fmt::Write as _;
use toml::{Table, Value};

/// The value of a dotted key.
fn value<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    match key.split_once('.') {
        Some((above, name)) => table.get(above)?.get(name),
        None => table.get(key),
    }
}

/// A preset's settings, one line each, in the order people are shown them.
fn page(name: &str) -> String {
    let settings = preset::settings(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let table = Table::try_from(settings).expect("settings were made from a table");
    let mut page = format!("[{name}]\n");
    for key in schema::KEYS.iter().filter(|key| key.name != "about") {
        let told = value(&table, key.name).map_or_else(|| "none".to_owned(), Value::to_string);
        writeln!(page, "{} = {told}", key.name).expect("a text takes everything");
    }
    page
}

#[test]
fn every_preset_has_the_values_it_had() {
    let pages: Vec<String> = preset::names().map(page).collect();
    insta::assert_snapshot!(pages.join("\n"));
}
