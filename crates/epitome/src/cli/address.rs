//! Where a server listens, as people write it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The port where nobody says one.
pub const PORT: u16 = 7117;

/// An address to listen on: `127.0.0.1:7117`, `[::1]:7117`, `localhost:7117`, or a port alone, `7117` or `:7117`.
///
/// # Errors
/// What to write instead.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let here = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    if text == "localhost" {
        return Ok(here(PORT));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_number = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    match (host, port.parse()) {
        ("" | "localhost", Ok(port)) => Ok(here(port)),
        (_, Err(_)) if is_number => Err(format!("`{port}` is no port; ports end at 65535")),
        (_, Ok(_) | Err(_)) => {
            Err(format!("`{text}` is no address; write 127.0.0.1:{PORT}, or a port alone"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_listen;

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        let written = ["7117", ":7117", "localhost:7118", "localhost", "127.0.0.1", "[::1]:80", "::1", "0"];
        let taken = written.map(|text| parse_listen(text).map(|address| address.to_string()));
        let expected = [
            "127.0.0.1:7117",
            "127.0.0.1:7117",
            "127.0.0.1:7118",
            "127.0.0.1:7117",
            "127.0.0.1:7117",
            "[::1]:80",
            "[::1]:7117",
            "127.0.0.1:0",
        ];
        assert_eq!(taken, expected.map(|address| Ok(address.to_owned())));
    }

    #[test]
    fn what_is_no_address_is_told_with_one_that_is() {
        let port = "`99999` is no port; ports end at 65535";
        let form = |text: &str| format!("`{text}` is no address; write 127.0.0.1:7117, or a port alone");
        assert_eq!(parse_listen("127.0.0.1:99999"), Err(port.to_owned()));
        for text in ["", "here", "example.org:80", "http://127.0.0.1:7117"] {
            assert_eq!(parse_listen(text), Err(form(text)));
        }
    }
}
