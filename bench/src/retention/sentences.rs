//! Extractive baselines: sentences by the rarity of their words, and by their likeness to others.

use std::collections::{HashMap, HashSet};

/// Longer lines are cut here, so that one line of data does not count as a sentence.
const SENTENCE_BYTES_MAX: usize = 300;
/// Rounds of the ranking; it has settled long before.
const ROUNDS: usize = 15;

/// The lines of a text that say something.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| line.len() >= 8).map(|line| {
        let end = line.floor_char_boundary(SENTENCE_BYTES_MAX);
        &line[..end]
    })
}

fn words(sentence: &str) -> HashSet<&str> {
    sentence.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() >= 3).collect()
}

/// Positions of the sentences, those with the highest mean TF-IDF first; repeated ones once.
pub fn by_rarity(sentences: &[&str]) -> Vec<usize> {
    let sets: Vec<HashSet<&str>> = sentences.iter().map(|sentence| words(sentence)).collect();
    let mut documents: HashMap<&str, f64> = HashMap::new();
    sets.iter().flatten().for_each(|word| *documents.entry(word).or_default() += 1.0);
    let total = sentences.len() as f64;
    let score = |set: &HashSet<&str>| {
        let mut parts: Vec<f64> = set.iter().map(|word| (total / documents[word]).ln()).collect();
        parts.sort_by(f64::total_cmp);
        parts.iter().sum::<f64>() / (set.len() as f64 + 3.0)
    };
    order(sentences, sets.iter().map(score).collect())
}

/// Positions of the sentences, the most central first: each word passes on what its sentences have.
pub fn by_rank(sentences: &[&str]) -> Vec<usize> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let sets: Vec<Vec<usize>> = sentences
        .iter()
        .map(|sentence| {
            let mut set: Vec<&str> = words(sentence).into_iter().collect();
            set.sort_unstable();
            set.iter()
                .map(|word| {
                    let next = numbers.len();
                    *numbers.entry(word).or_insert(next)
                })
                .collect()
        })
        .collect();
    let mut degree = vec![0.0_f64; numbers.len()];
    sets.iter().flatten().for_each(|&word| degree[word] += 1.0);
    let mut scores = vec![1.0_f64; sentences.len()];
    for _ in 0..ROUNDS {
        let mut mass = vec![0.0_f64; numbers.len()];
        for (set, score) in sets.iter().zip(&scores) {
            set.iter().for_each(|&word| mass[word] += score / set.len() as f64);
        }
        for (set, score) in sets.iter().zip(&mut scores) {
            *score = 0.15 + 0.85 * set.iter().map(|&word| mass[word] / degree[word]).sum::<f64>();
        }
    }
    order(sentences, scores)
}

fn order(sentences: &[&str], scores: Vec<f64>) -> Vec<usize> {
    let mut at: Vec<usize> = (0..sentences.len()).collect();
    at.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut seen = HashSet::new();
    at.retain(|&at| seen.insert(sentences[at]));
    at
}
