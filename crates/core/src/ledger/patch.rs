//! What a patch in the `*** Begin Patch` form does to files.

use super::effect::FileEffect;
use super::path::join;

/// The effects of a patch, in order.
pub(super) fn effects(patch: &str, folder: &str) -> Vec<FileEffect> {
    let mut all: Vec<FileEffect> = Vec::new();
    for line in patch.lines() {
        let Some(line) = line.strip_prefix("*** ") else { continue };
        let Some((what, path)) = line.split_once(": ") else { continue };
        let path = join(folder, path.trim());
        match what {
            "Add File" => all.push(FileEffect::Create(path)),
            "Update File" => all.push(FileEffect::Modify(path)),
            "Delete File" => all.push(FileEffect::Delete(path)),
            "Move to" => {
                if let Some(FileEffect::Modify(from)) = all.last() {
                    let from = from.clone();
                    all.push(FileEffect::Move { from, to: path });
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{FileEffect, effects};

    #[test]
    fn each_header_is_an_effect() {
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+x\n*** Update File: b.rs\n*** Move to: c.rs\n*** End Patch";
        let want = [
            FileEffect::Create("a.rs".into()),
            FileEffect::Modify("b.rs".into()),
            FileEffect::Move { from: "b.rs".into(), to: "c.rs".into() },
        ];
        assert_eq!(effects(patch, ""), want);
    }
}
