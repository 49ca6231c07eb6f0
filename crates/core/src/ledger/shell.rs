//! Reading shell: a script as simple commands, each with its words, redirections and heredocs.
//!
//! It knows quoting, operators, heredocs and comments, and expands nothing: a word that holds a
//! variable or a substitution is given as written.

use super::word::word;

/// One simple command of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Program and arguments, unquoted. Assignments before the program are left out.
    pub words: Vec<String>,
    /// Files written by `>` and `>>`.
    pub writes: Vec<String>,
    /// Bodies of heredocs, in order.
    pub heredocs: Vec<String>,
    /// The command as written, without heredoc bodies.
    pub text: String,
    /// Whether its output goes into the next one: then that one's exit code is all that is seen.
    pub is_piped: bool,
}

/// Scripts longer than this are data; their tail is not read.
const COMMANDS_MAX: usize = 200;

/// The simple commands of a script, in order.
pub fn parse(script: &str) -> Vec<SimpleCommand> {
    let mut reader =
        ShellLexer { rest: script, all: Vec::new(), now: SimpleCommand::default(), waiting: Vec::new() };
    while !reader.rest.is_empty() && reader.all.len() < COMMANDS_MAX {
        reader.step();
    }
    reader.finish();
    reader.all
}

struct ShellLexer<'s> {
    rest: &'s str,
    all: Vec<SimpleCommand>,
    now: SimpleCommand,
    /// Heredocs announced on this line: the delimiter, and whether leading tabs go.
    waiting: Vec<(String, bool)>,
}

impl ShellLexer<'_> {
    fn step(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        match first {
            '\n' => {
                self.skip(1);
                self.take_heredocs();
                self.finish();
            }
            '&' if self.rest.starts_with("&>") => self.redirect(2),
            '&' if self.rest.starts_with("&&") => self.end_command(2),
            '|' if self.rest.starts_with("||") => self.end_command(2),
            '|' => {
                self.now.is_piped = true;
                self.end_command(1);
            }
            '(' | ')' | '{' | '}' if self.now.words.is_empty() => self.skip(1),
            ';' | '&' | ')' => self.end_command(1),
            '#' => self.rest = self.rest.find('\n').map_or("", |at| &self.rest[at..]),
            '<' => self.input(),
            '>' => self.redirect(1),
            '0'..='9' if self.rest[1..].starts_with('>') => {
                let is_output = first == '1';
                if is_output { self.redirect(2) } else { self.discard_redirect() }
            }
            c if c.is_whitespace() => self.skip(c.len_utf8()),
            _ => self.take_word(),
        }
    }

    /// Skips an operator of so many bytes, which ends a command.
    fn end_command(&mut self, operator_bytes: usize) {
        self.skip(operator_bytes);
        self.finish();
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn take_word(&mut self) {
        let (word, len) = word(self.rest);
        let written = &self.rest[..len];
        if !self.now.text.is_empty() {
            self.now.text.push(' ');
        }
        self.now.text.push_str(written);
        self.rest = &self.rest[len.max(1).min(self.rest.len())..];
        let is_before_program = self.now.words.is_empty() && (is_assignment(written) || is_keyword(&word));
        if !is_before_program {
            self.now.words.push(word);
        }
    }

    /// `< FILE`, `<< WORD`, `<<< TEXT`, `<(…)`.
    fn input(&mut self) {
        if self.rest.starts_with("<<<") {
            self.skip(3);
            self.take_target();
        } else if self.rest.starts_with("<<") {
            self.skip(2);
            let strips_tabs = self.rest.starts_with('-');
            self.skip(usize::from(strips_tabs));
            if let Some(delimiter) = self.take_target() {
                self.waiting.push((delimiter, strips_tabs));
            }
        } else {
            self.skip(1);
            if !self.rest.starts_with('(') {
                self.take_target();
            }
        }
    }

    fn redirect(&mut self, sign: usize) {
        self.skip(sign);
        self.skip(usize::from(self.rest.starts_with('>')));
        self.skip(usize::from(self.rest.starts_with('|')));
        if let Some(target) = self.take_target() {
            self.now.writes.push(target);
        }
    }

    fn discard_redirect(&mut self) {
        let before = self.now.writes.len();
        self.redirect(2);
        self.now.writes.truncate(before);
    }

    fn take_target(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        if let Some(after) = self.rest.strip_prefix('&') {
            let digits = after.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(after.len());
            self.rest = &after[digits..];
            return None;
        }
        let (target, len) = word(self.rest);
        self.rest = &self.rest[len..];
        (len > 0).then_some(target)
    }

    fn take_heredocs(&mut self) {
        for (delimiter, strips_tabs) in std::mem::take(&mut self.waiting) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let (line, after) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = after;
                let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
                if line.trim_end() == delimiter {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            self.now.heredocs.push(body);
        }
    }

    fn finish(&mut self) {
        // A heredoc belongs to its command even where the line goes on with `&&` or a pipe.
        if !self.waiting.is_empty()
            && let Some(line_end) = self.rest.find('\n')
        {
            let (line, body) = self.rest.split_at(line_end);
            let mut below = ShellLexer {
                rest: &body[1..],
                all: Vec::new(),
                now: SimpleCommand::default(),
                waiting: std::mem::take(&mut self.waiting),
            };
            below.take_heredocs();
            self.now.heredocs.append(&mut below.now.heredocs);
            let (line, after) = (line.to_owned(), below.rest);
            self.close();
            for simple in parse(&line) {
                self.all.push(simple);
            }
            self.rest = after;
            return;
        }
        self.close();
    }

    fn close(&mut self) {
        let done = std::mem::take(&mut self.now);
        if !done.words.is_empty() || !done.writes.is_empty() {
            self.all.push(done);
        }
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then" | "else" | "elif" | "fi" | "do" | "done" | "while" | "until" | "!" | "time" | "{" | "}"
    )
}

fn is_assignment(written: &str) -> bool {
    let Some((name, _)) = written.split_once('=') else { return false };
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn words(script: &str) -> Vec<Vec<String>> {
        parse(script).into_iter().map(|simple| simple.words).collect()
    }

    #[test]
    fn operators_part_commands_and_quotes_do_not() {
        let want = [vec!["cd", "/a b"], vec!["grep", "x;y", "f"], vec!["head", "-5"]];
        assert_eq!(words("cd '/a b' && grep \"x;y\" f 2>/dev/null | head -5 # why"), want);
    }

    #[test]
    fn a_heredoc_is_no_command() {
        let all = parse("cat > a.py << 'EOF' && python a.py\nrm -rf /\nEOF\nls");
        assert_eq!(all[0].writes, ["a.py"]);
        assert_eq!(all[0].heredocs, ["rm -rf /\n"]);
        assert_eq!(
            all[1..].iter().map(|simple| simple.words.join(" ")).collect::<Vec<_>>(),
            ["python a.py", "ls"]
        );
    }

    #[test]
    fn a_substitution_is_one_word() {
        assert_eq!(
            words("git commit -m \"$(cat <<'EOF'\nhi; there\nEOF\n)\""),
            [vec!["git", "commit", "-m", "$(cat <<'EOF'\nhi; there\nEOF\n)"]]
        );
    }
}
