//! A registry that serves over TLS itself: whom a client believes, and what is said where the proof fails. The certificates are those
//! of `fixtures/tls`.

use crate::support::program::{Program, tls_file};
use crate::support::pty::terminal;

const ASK: &str = "resolve support.greeting --env dev --output json";

fn served() -> Program {
    let p = Program::start();
    p.served_in_dev("support.greeting", "Hello.\n");
    p
}

#[test]
fn over_tls_a_client_believes_the_authority_that_was_named_and_no_other() {
    let mut p = served();
    p.over_tls("server.pem");
    assert!(p.server.starts_with("https://"), "{}", p.server);
    let ask = |ca: &str| p.words("web", &format!("{ASK} --ca {}", tls_file(ca)));
    assert_eq!(ask("authority.pem").json()["content"]["body"], "Hello.\n");
    let named = p.command("web", ASK.split(' ')).env("COUNTERSIGN_CA", tls_file("authority.pem")).output().unwrap();
    assert!(named.status.success(), "{named:?}");
    std::fs::create_dir_all(p.home.path().join("config")).unwrap();
    let settings = p.home.path().join("config/config.toml");
    std::fs::copy(tls_file("authority.pem"), settings.with_file_name("ours.pem")).unwrap();
    std::fs::write(&settings, "ca = \"ours.pem\"\n").unwrap();
    p.words("web", ASK).good();
    std::fs::remove_file(settings).unwrap();
    p.words("web", ASK).fails(7, "who signed its certificate is not trusted here");
    ask("stranger.pem").fails(7, "who signed its certificate is not trusted here");
    ask("server.key").fails(2, "holds no certificate");
    ask("nowhere.pem").fails(2, "cannot be read");
    // The same port by the other name that the certificate has.
    let by_name = p.server.replace("127.0.0.1", "localhost");
    p.words("web", &format!("{ASK} --ca {} --server {by_name}", tls_file("authority.pem"))).good();
}

#[test]
fn a_certificate_that_proves_nothing_is_refused_and_the_refusal_says_what_to_do() {
    let mut p = served();
    for (certificate, authority, words) in [
        ("expired.pem", "authority.pem", "its certificate has expired; whoever runs it must renew it"),
        (
            "elsewhere.pem",
            "authority.pem",
            "is for other names than this address; use one that it is for: DnsName(\"registry.example\")",
        ),
        ("itself.pem", "itself.pem", "an authority's own (CA:TRUE)"),
    ] {
        p.over_tls(certificate);
        p.words("web", &format!("{ASK} --ca {}", tls_file(authority))).fails(7, words);
    }
}

#[test]
fn who_speaks_the_other_protocol_is_told_so() {
    let mut p = served();
    let secure = p.server.replace("http://", "https://");
    p.words("web", &format!("{ASK} --server {secure}")).fails(7, "does not speak https; is the address http://…?");
    p.over_tls("server.pem");
    let clear = p.server.replace("https://", "http://");
    let said = p.words("web", &format!("{ASK} --server {clear}"));
    said.fails(1, "this port speaks https alone");
    said.fails(1, "write https:// in place of http://");
}

#[test]
fn a_server_does_not_start_with_a_certificate_that_it_could_not_show() {
    let p = served();
    for (certificate, key, words) in [
        ("nowhere.pem", "server.key", "nowhere.pem cannot be read: No such file"),
        ("server.pem", "nowhere.key", "nowhere.key cannot be read: No such file"),
        ("server.key", "server.key", "server.key holds no certificate"),
        ("server.pem", "server.pem", "server.pem holds no private key"),
        ("server.pem", "other.key", "other.key is not the key of that certificate"),
        ("server.pem", "locked.key", "locked.key is locked by a passphrase"),
    ] {
        p.serve_again(&["--tls-cert", &tls_file(certificate), "--tls-key", &tls_file(key)]).fails(2, words);
    }
    p.serve_again(&["--tls-cert", &tls_file("server.pem")]).fails(2, "--tls-key");
}

#[test]
fn the_terminal_is_live_over_tls_and_says_whom_it_does_not_trust() {
    let mut p = served();
    p.over_tls("server.pem");
    let mut pty = terminal(&p, "carol", 120, 36, &["--ca", &tls_file("authority.pem")]);
    pty.shows("live").idle().type_keys(":explain support.greeting --env dev --unit user-42\r");
    pty.shows("explain support.greeting in dev").shows("because       static");
    let mut pty = terminal(&p, "carol", 120, 36, &["--ca", &tls_file("stranger.pem")]);
    pty.shows("who signed its certificate is not trusted");
}
