//! The model of a request itself among those who can be asked, for as long as the request is worked on, or for as long as
//! a summary it began in the background is written. It holds the request's credential, so what is kept of a session is
//! kept without it.

use crate::rules::{OwnModel, SessionRule};
use epitome_engine::{Checkout, NoWindow, Ports, SummaryModel};
use std::time::Duration;

/// Why a request's own model is not asked between requests.
const NO_REQUEST: &str =
    "the session's own model is asked with a request's credential, and none is under way";

/// Providers keep a prompt for five minutes after its last use, or longer.
pub(crate) const CACHE_TIME: Duration = Duration::from_secs(300);

/// Whether summaries may go on from the session's last request, which its provider has in its cache.
pub(crate) fn is_warm(checkout: &Checkout) -> bool {
    checkout.driver.ports().model.as_ref().is_some_and(|model| model.is_warm)
}

/// Has summaries made from messages alone, and not from the session's last request.
pub(crate) fn cool(checkout: &mut Checkout) {
    if let Some(model) = &mut checkout.driver.ports_mut().model {
        model.is_warm = false;
    }
}

/// Who can be asked while a request is worked on.
pub(crate) fn ports(rule: &SessionRule, is_cached: bool) -> Ports {
    let mut ports = rule.ports.clone();
    match &rule.own_model {
        OwnModel::Unwanted => {}
        OwnModel::Ready(own) => ports.model = Some(SummaryModel::own(own.model.clone(), is_cached)),
        OwnModel::Refused(why) => ports.no_model = Some(why.clone()),
    }
    ports
}

/// The same checkout by another rule, for one act between requests.
pub(crate) fn govern(mut checkout: Checkout, rule: &SessionRule) -> Result<Checkout, NoWindow> {
    checkout.assembly.set_policy(rule.policy.clone())?;
    let ports = checkout.driver.ports_mut();
    (ports.model, ports.prompts) = (rule.ports.model.clone(), rule.ports.prompts.clone());
    ports.no_model = None;
    Ok(strip(checkout, rule))
}

/// The same checkout for whoever looks at the session between requests, without what holds a credential.
pub(crate) fn strip(mut checkout: Checkout, rule: &SessionRule) -> Checkout {
    match &rule.own_model {
        OwnModel::Unwanted => {}
        OwnModel::Ready(_) | OwnModel::Refused(_) => {
            let ports = checkout.driver.ports_mut();
            (ports.model, ports.no_model) = (rule.ports.model.clone(), Some(NO_REQUEST.into()));
        }
    }
    checkout
}
