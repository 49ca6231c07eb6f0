//! dump
use epitome_bench::retention::load::files;
use epitome_core::{EntryId, Policy, Tokens};
use epitome_engine::{Assembly, Lens, Timeline, WindowFacts};
use epitome_tokens::Catalog;
use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    for path in files(&paths) {
        let bytes = std::fs::read(&path)?;
        let bytes =
            if path.extension().is_some_and(|e| e == "zst") { zstd::decode_all(&bytes[..])? } else { bytes };
        let bytes = Arc::new(bytes);
        let Ok(probe) = epitome_wire::read(bytes.clone(), None, &epitome_core::ZeroMeasure) else { continue };
        for (n, c) in probe.conversations.iter().enumerate() {
            let Some(model) = c.replies.iter().filter(|r| r.usage.is_some()).find_map(|r| r.model.clone())
            else {
                continue;
            };
            let spec = Catalog::built_in().find(&model);
            let policy = Arc::new(Policy::default());
            let known = WindowFacts { stated: Some(Tokens(10_000_000)), ..Default::default() };
            let assembly = Assembly::new(policy.clone(), spec, known)?;
            let t = epitome_wire::read(bytes.clone(), None, &**assembly.measure())?;
            let c = &t.conversations[n];
            let fixed = assembly.count_fixed(&c.fixed.system, &c.fixed.tools);
            let replies: HashMap<EntryId, _> = c.replies.iter().map(|r| (r.entry, r)).collect();
            let mut line = Timeline::new(Arc::new(c.log.clone()), Arc::new(c.sizes.clone()));
            let measure = assembly.measure().clone();
            let lens = Lens {
                measure: &*measure,
                archive: &c.originals,
                guard: &policy.guard,
                trigger: &policy.trigger,
                model: &model,
            };
            let mut stretch = 0;
            for id in c.log.path_of(c.leaf) {
                if c.log.get(id).is_some_and(epitome_core::rebuilds) {
                    stretch += 1;
                }
                let before = line.context().tokens();
                if let Some(r) = replies.get(&id)
                    && let Some(u) = r.usage
                    && r.model.as_deref().is_none_or(|m| *m == *model)
                {
                    let mut s = epitome_core::Sizes::default();
                    for (id, ..) in line.context().message_slots() {
                        s += c.sizes.of(id);
                    }
                    println!(
                        "{}\t{n}\t{model}\t{}\t{stretch}\t{}\t{}\t{}\t{}\t{}\t{}",
                        path.display(),
                        assembly.count_method(),
                        fixed.0,
                        before.0,
                        u.prompt,
                        u.output,
                        s.thinking.0,
                        s.opaque.0
                    );
                }
                line.absorb(id, lens)?;
            }
        }
    }
    Ok(())
}
