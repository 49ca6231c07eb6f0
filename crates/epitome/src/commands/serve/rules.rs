//! Rules that follow their files while a server runs: a change counts at the next check.

use super::log::ServerLog;
use crate::session_ports::PortsBuilder;
use crate::settings::{AgentFolder, Disk, Lookup};
use anyhow::{Context as _, Result};
use epitome_core::Tokens;
use epitome_core::policy::Writer;
use epitome_server::{Caller, NoticeLevel, OwnModel, Rules, SessionRule};
use epitome_settings::{LivePolicy, ResolvedPolicy};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use toml::Table;

/// Names of models and agents come from clients. So many pairs have settings read for them; others share those for none.
const CALLERS_MAX: usize = 256;
/// So many notes are told; names in them come from clients too.
const NOTES_MAX: usize = 256;

/// Settings as they are on disk.
pub(super) struct LiveRules {
    lookup: Lookup,
    agents: Option<AgentFolder>,
    ports: PortsBuilder,
    /// The window of every model, where the command line says one.
    window: Option<Tokens>,
    followed: Mutex<HashMap<CallerKey, LiveRule>>,
    /// Notes on settings that were told, so that each is told once.
    noted: Mutex<HashSet<String>>,
    /// The newest change of summariser that was told: every caller's settings come to it, one after the other.
    announced: Mutex<String>,
    log: ServerLog,
}

/// Whose settings are followed: a model and an agent by name, each empty where none is meant.
type CallerKey = (String, String);

/// The settings for one model and agent, and the newest that could be used.
struct LiveRule {
    live: LivePolicy,
    /// What `rule` was made from.
    seen: Arc<ResolvedPolicy>,
    rule: UsableRule,
    /// What was said of settings that cannot be used, so that it is said once.
    told: Option<String>,
}

/// A rule that can be used, and who writes summaries by it, in words.
struct UsableRule {
    rule: SessionRule,
    summarizer: String,
}

impl LiveRules {
    /// Refuses settings and summarisers that cannot be used.
    pub(super) fn open(
        lookup: Lookup,
        agents: Option<AgentFolder>,
        ports: PortsBuilder,
        window: Option<Tokens>,
        log: ServerLog,
    ) -> Result<Self> {
        let (followed, noted, announced) = (Mutex::default(), Mutex::default(), Mutex::default());
        let rules = Self { lookup, agents, ports, window, followed, noted, announced, log };
        let plain = rules.follow("", "")?;
        rules.followed.lock().unwrap_or_else(PoisonError::into_inner).insert(CallerKey::default(), plain);
        Ok(rules)
    }

    fn follow(&self, model: &str, agent: &str) -> Result<LiveRule> {
        let agents = if agent.is_empty() { Vec::new() } else { self.agent_files(agent)? };
        let (watched, rest) =
            self.lookup.found_with(Some(model).filter(|model| !model.is_empty()), agents)?;
        let mut live = LivePolicy::open(Arc::new(Disk), watched, rest)?;
        let seen = live.check().clone();
        let rule = self.rule(&seen)?;
        Ok(LiveRule { live, seen, rule, told: None })
    }

    fn agent_files(&self, agent: &str) -> Result<Vec<PathBuf>> {
        let folder = self.agents.as_ref();
        folder
            .context("a request names its agent; `--agents FOLDER` makes agents' settings count")?
            .files(agent)
    }

    /// Whether settings for a caller are followed, from now on if not before; what stands in the way is told.
    fn is_followed(&self, followed: &mut HashMap<CallerKey, LiveRule>, caller: &CallerKey) -> bool {
        if followed.contains_key(caller) {
            return true;
        }
        if followed.len() >= CALLERS_MAX {
            return false;
        }
        // Whoever comes first after a change has seen no other settings: these have, and are asked by nobody else.
        followed.get_mut(&CallerKey::default()).into_iter().for_each(|plain| drop(self.now(plain)));
        match self.follow(&caller.0, &caller.1) {
            Ok(found) => followed.insert(caller.clone(), found).is_none(),
            Err(error) => {
                self.note(&[format!("{error:#}; the settings for all others count")]);
                false
            }
        }
    }

    fn rule(&self, resolved: &ResolvedPolicy) -> Result<UsableRule> {
        self.note(&resolved.notes);
        self.usable(resolved)
    }

    /// The rule of settings that can be used.
    fn usable(&self, resolved: &ResolvedPolicy) -> Result<UsableRule> {
        self.window.map_or(Ok(()), |window| resolved.check_in(window))?;
        let ports = self.ports.ports(resolved)?;
        let (policy, summarizer) = (resolved.policy.clone(), ports.summarizer(&resolved.policy));
        let rule = SessionRule { policy, ports: ports.ports, own_model: OwnModel::Unwanted };
        Ok(UsableRule { rule, summarizer })
    }

    /// Says that others write summaries from now on: what is summarised goes to them.
    fn announce(&self, before: &str, now: &str) {
        let text = format!("the summariser was {before}, and is {now} from now on");
        let mut announced = self.announced.lock().unwrap_or_else(PoisonError::into_inner);
        if before != now && *announced != text {
            self.log.say(NoticeLevel::Warn, &text);
            *announced = text;
        }
    }

    /// Says what the operator should know of their settings.
    fn note(&self, notes: &[String]) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes {
            if noted.len() < NOTES_MAX && noted.insert(note.clone()) {
                self.log.say(NoticeLevel::Warn, &format!("note: {note}"));
            }
        }
    }

    /// The rule as the files are now; the last good one where they cannot be used.
    fn now(&self, followed: &mut LiveRule) -> SessionRule {
        let seen = followed.live.check().clone();
        let mut fault = followed.live.fault().map(ToString::to_string);
        if !Arc::ptr_eq(&seen, &followed.seen) {
            match self.rule(&seen) {
                Ok(rule) => {
                    self.announce(&followed.rule.summarizer, &rule.summarizer);
                    followed.rule = rule;
                }
                Err(error) => fault = Some(format!("{error:#}")),
            }
            followed.seen = seen;
        }
        if let Some(fault) = fault.filter(|fault| followed.told.as_ref() != Some(fault)) {
            let text = format!("{fault}; the settings before that stay in force");
            self.log.say(NoticeLevel::Error, &text);
            followed.told = Some(fault);
        }
        followed.rule.rule.clone()
    }

    /// Does something with the settings for a caller.
    fn with<T>(&self, caller: &Caller<'_>, act: impl FnOnce(&mut LiveRule) -> T) -> T {
        let (model, agent) = (caller.model.to_owned(), caller.agent.unwrap_or_default().to_owned());
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let callers = [(model.clone(), agent), (model, String::new()), CallerKey::default()];
        let found = callers.iter().find(|caller| self.is_followed(&mut followed, caller));
        let followed = found.and_then(|caller| followed.get_mut(caller));
        act(followed.expect("the rules for nobody in particular are there from the start"))
    }

    /// The same rule with the model of a caller's own request, where the policy has it write.
    fn with_own_model(&self, rule: SessionRule, caller: &Caller<'_>) -> SessionRule {
        // The operator may have named a model that stands for every session's own.
        if rule.policy.summary.by != Writer::Session || rule.ports.model.is_some() {
            return rule;
        }
        let own_model = self.ports.own_model(&rule.policy, caller);
        SessionRule { own_model, ..rule }
    }
}

impl Rules for LiveRules {
    fn of(&self, caller: &Caller<'_>) -> SessionRule {
        let rule = self.with(caller, |followed| self.now(followed));
        self.with_own_model(rule, caller)
    }

    fn of_act(&self, caller: &Caller<'_>, set: &Map<String, Value>) -> Result<SessionRule, String> {
        let table = Table::try_from(set).map_err(|error| format!("`set` cannot be used: {error}"))?;
        let resolved = self.with(caller, |followed| followed.live.with_overrides(table));
        let resolved = resolved.map_err(|error| error.to_string())?;
        let UsableRule { rule, .. } = self.usable(&resolved).map_err(|error| format!("{error:#}"))?;
        Ok(self.with_own_model(rule, caller))
    }
}
