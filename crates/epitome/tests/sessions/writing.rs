//! `-o`: what lies among an agent's sessions gives way only where nothing is lost by it.

use crate::home::{self, CLAUDE, Home, PI, TURNS};
use std::path::{Path, PathBuf};

/// A window in which the sessions are too long.
const TIGHT: [&str; 4] = ["--window", "16000", "--target", "2000"];

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("it is there")
}

/// A home with a session of Claude Code's and one of pi's, and their files.
fn two() -> (Home, PathBuf, PathBuf) {
    let home = Home::new();
    let project = home.project();
    let claude = home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, TURNS));
    let pi = home.write(&home::pi_name(&project, PI), 1, &home::pi(&project, PI, TURNS));
    (home, claude, pi)
}

/// What is said of a file that stays as it is.
fn refused(out: &Path) -> String {
    format!(
        "cannot write {}: it lies where an agent keeps its sessions, and is nothing that epitome wrote of the same transcript; name another file, or replace it with --force",
        out.display()
    )
}

#[test]
fn a_session_that_epitome_did_not_write_is_not_written_over() {
    let (home, claude, pi) = two();
    let small = home.path().join("small.jsonl");
    home.printed(&[&["compact", text(&claude), "-o", text(&small)], &TIGHT[..]].concat());
    home.printed(&["import", text(&claude)]);
    let notes = home.write_bytes("notes.txt", 0, b"precious\n");
    for out in [&pi] {
        let before = read(out);
        let compact = [&["compact", text(&claude), "-o", text(out)], &TIGHT[..]].concat();
        let native = [&compact[..], &["--to", "native"]].concat();
        let undo = ["undo", text(&small), "-o", text(out)];
        let export = ["export", "s0001", "-o", text(out)];
        let context = ["context", text(&claude), "-o", text(out)];
        for args in [&compact[..], &native, &undo, &export, &context] {
            let said = home.refusal(args);
            assert!(said.ends_with(&refused(out)), "{args:?}: {said}");
            assert!(read(out) == before, "{args:?}: it was written over");
        }
    }
    home.printed(&["undo", text(&small), "-o", text(&pi), "--force"]);
    assert!(read(&pi) == read(&claude), "it was to be replaced");
    home.printed(&["undo", text(&small), "-o", text(&notes)]);
    assert!(read(&notes) == read(&claude), "it is no session of anybody's");
}

#[test]
fn what_epitome_wrote_of_a_transcript_gives_way_to_its_next_work_on_it() {
    let (home, claude, pi) = two();
    let place = |name: &str| claude.parent().expect("it lies in a folder").join(name);
    for (name, to) in
        [("small.jsonl", "claude-code"), ("small.epitome", "native"), ("body.json", "anthropic")]
    {
        let out = place(name);
        let compact = [&["compact", text(&claude), "--to", to, "-o", text(&out)], &TIGHT[..]].concat();
        home.printed(&compact);
        // Another time, by other settings.
        home.printed(&[&compact[..4], &["-o", text(&out), "--window", "12000", "--target", "3000"]].concat());
        let of_another = [&["compact", text(&pi), "-o", text(&out)], &TIGHT[..]].concat();
        let said = home.refusal(&of_another);
        assert!(said.ends_with(&refused(&out)), "{name}: {said}");
    }
    let (small, back) = (place("small.jsonl"), place("back.jsonl"));
    for _ in 0..2 {
        home.printed(&["undo", text(&small), "-o", text(&back)]);
        assert!(read(&back) == read(&claude));
    }
    home.printed(&["import", text(&claude)]);
    for _ in 0..2 {
        home.printed(&["export", "s0001", "-o", text(&back)]);
        home.printed(&["export", "s0001", "--to", "openai-chat", "-o", text(&place("chat.json"))]);
    }
    // Its tool went on in the file that we wrote: that is nowhere else.
    let mut said = read(&small);
    let line = home::claude(&home.project(), CLAUDE, 1).pop().expect("a reply is the last");
    said.extend(
        line.to_string().replace("msg_0", "msg_new").replace(&format!("{CLAUDE}-1"), "later").bytes(),
    );
    said.push(b'\n');
    std::fs::write(&small, &said).expect("there is room");
    let again = home.refusal(&[&["compact", text(&claude), "-o", text(&small)], &TIGHT[..]].concat());
    assert!(again.ends_with(&refused(&small)), "{again}");
    // The command's own input may always be written back to.
    home.printed(&[&["compact", text(&small), "-o", text(&small)], &TIGHT[..]].concat());
}

#[cfg(unix)]
#[test]
fn a_link_stays_one_and_what_it_leads_to_is_written() {
    let (home, claude, _) = two();
    let sessions = claude.parent().expect("it lies in a folder");
    let (target, link) = (sessions.join("folder/target.jsonl"), home.path().join("link.jsonl"));
    std::fs::create_dir(sessions.join("folder")).expect("it is new");
    std::os::unix::fs::symlink(&target, &link).expect("it is new");
    for _ in 0..2 {
        // The first time it leads nowhere yet.
        home.printed(&[&["compact", text(&claude), "-o", text(&link)], &TIGHT[..]].concat());
        assert_eq!(std::fs::read_link(&link).expect("it is a link"), target);
        assert!(read(&target).starts_with(&read(&claude)));
    }
    std::fs::write(&target, "precious\n").expect("there is room");
    let said = home.refusal(&[&["compact", text(&claude), "-o", text(&link)], &TIGHT[..]].concat());
    assert!(said.ends_with(&refused(&link)), "{said}");
}

#[test]
fn what_came_through_a_pipe_is_not_named_again() {
    let (home, claude, _) = two();
    let mut command = home.command(env!("CARGO_BIN_EXE_epitome"));
    command.args(["compact", "-", "-o", "small.jsonl"]).args(TIGHT);
    let output = command.stdin(std::fs::File::open(&claude).expect("it is there")).output().expect("it runs");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(
        told.lines().last().map(str::trim),
        Some("claude-code does not look there; compact the session's own file with --resume for that"),
        "{told}"
    );
}
