//! Suggestions for a name that is not known: the nearest one by edit distance.

/// A name is taken for another where at most a third of its letters must change.
const LETTERS_PER_CHANGE: usize = 3;

/// The beginning of a name that is taken for it; with fewer letters it might be anything's.
const BEGINNING_LETTERS: usize = 3;

/// The name most like `asked`, where one is like it at all; else the shortest that begins with it.
pub(super) fn nearest<'n>(asked: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let (asked, names) = (fold(asked), names.collect::<Vec<_>>());
    let changes_max = (asked.len() / LETTERS_PER_CHANGE).max(1);
    let counted = names.iter().map(|name| (changes(&asked, &fold(name)), *name));
    let like = counted.filter(|(count, _)| *count <= changes_max).min().map(|(_, name)| name);
    let begins = |name: &&&str| asked.len() >= BEGINNING_LETTERS && fold(name).starts_with(&asked);
    like.or_else(|| names.iter().filter(begins).min_by_key(|name| name.len()).copied())
}

/// Without what spellings differ in: case, and what joins words.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|letter| !"_- ".contains(*letter)).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// How many letters must be put in, taken out or changed, or neighbours swapped, to make one name of the other.
fn changes(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut row = vec![at + 1];
        for (other, wanted) in to.iter().enumerate() {
            let changed = above[other] + usize::from(letter != wanted);
            let mut fewest = changed.min(row[other] + 1).min(above[other + 1] + 1);
            if at > 0 && other > 0 && from[at - 1] == *wanted && to[other - 1] == *letter {
                fewest = fewest.min(before[other - 1] + 1);
            }
            row.push(fewest);
        }
        (before, above) = (above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let of = |asked| nearest(asked, ["trigger.at", "trigger.target", "keep.newest"].into_iter());
        assert_eq!(
            [of("triger.at"), of("trigger.Targt"), of("keepnewest"), of("colour"), of("trigger.ta")],
            [Some("trigger.at"), Some("trigger.target"), Some("keep.newest"), None, Some("trigger.at")]
        );
        // A beginning, where it is long enough to be meant.
        let preset = |asked| nearest(asked, ["default", "claude-code@2.1", "claude-code"].into_iter());
        assert_eq!([preset("claude"), preset("cl"), preset("code")], [Some("claude-code"), None, None]);
        // One slip of the fingers, and too short a name for two.
        assert_eq!(nearest("mdoe", ["mode"].into_iter()), Some("mode"));
    }
}
