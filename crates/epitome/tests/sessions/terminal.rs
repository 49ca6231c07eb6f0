//! A terminal as standard output: files are not poured onto it.

use crate::home::{self, CLAUDE, Home};

/// Runs a program with a terminal around it and prints what it said there, then how it ended.
const ON_A_TERMINAL: &str = "
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
program = subprocess.Popen(sys.argv[1:], stdin=theirs, stdout=theirs, stderr=theirs)
os.close(theirs)
told = b''
try:
    while data := os.read(ours, 4096):
        told += data
except OSError:
    pass
sys.stdout.write(told.decode().replace('\\r\\n', '\\n') + str(program.wait()))
";

fn on_a_terminal(home: &Home, args: &[&str]) -> String {
    let mut python = home.command("python3");
    let output = python.args(["-c", ON_A_TERMINAL, env!("CARGO_BIN_EXE_epitome")]).args(args).output();
    String::from_utf8(output.expect("python3 runs").stdout).expect("UTF-8")
}

#[test]
fn a_transcript_is_not_poured_onto_a_terminal() {
    let home = Home::new();
    let project = home.project();
    home.write(&home::claude_name(&project, CLAUDE), 0, &home::claude(&project, CLAUDE, 2));
    for (command, what_else) in [
        (
            "compact",
            "name a file with -o, use --resume to go on with it in its own tool, or --json for the record alone",
        ),
        ("undo", "name a file with -o: another, or the transcript itself to have it changed where it is"),
        ("context", "name a file with -o, or read it with `| less`"),
    ] {
        let told = on_a_terminal(&home, &[command, CLAUDE]);
        assert_eq!(told, format!("epitome: this would fill the terminal; {what_else}\n1"), "{command}");
    }
    let told = on_a_terminal(&home, &["compact", CLAUDE, "--dry-run"]);
    assert!(told.ends_with("\n0"), "{told}");
}
