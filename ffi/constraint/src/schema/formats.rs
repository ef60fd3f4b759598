//! What the `format` keyword stands for, as regular expressions.
//!
//! Each describes a subset of what the usual validators accept (ajv-formats in its strict mode): a value made under it is
//! valid everywhere, even where a rule like that of leap years is not one a regular expression states easily.

/// Names for error messages.
pub const KNOWN: &str =
    "date, time, date-time, duration, email, hostname, ipv4, ipv6, uuid, uri, uri-reference, byte, \
                         json-pointer, binary, password, int32, int64, float, double";

const TIME: &str =
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

const DATE: &str = concat!(
    r"(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    // 29 February: years divisible by 4, and of the whole centuries those divisible by 400
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
);

const DURATION: &str = concat!(
    r"P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M)?(?:[0-9]{1,9}D)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}M)?(?:[0-9]{1,9}S)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?",
    r"|T(?:[0-9]{1,9}H(?:[0-9]{1,9}M)?(?:[0-9]{1,9}S)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))"
);

const LABEL: &str = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const OCTET: &str = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const H16: &str = "[0-9a-fA-F]{1,4}";
const BASE64: &str = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?";
const UUID: &str = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
const POINTER: &str = r"(?:/(?:[^~/]|~[01])*)*";
/// Characters of a URI's path; percent-encoded bytes included.
const PCHAR: &str = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";

fn ipv4() -> String {
    format!(r"(?:{OCTET}\.){{3}}{OCTET}")
}

fn ipv6() -> String {
    let mut forms = vec![format!("(?:{H16}:){{7}}{H16}"), "::".to_string()];
    // The gap stands for at least one group, so at most seven are written out around it.
    for before in 0..=7 {
        let left = if before == 0 { String::new() } else { format!("{H16}(?::{H16}){{{}}}", before - 1) };
        let after = 7 - before;
        let right = if after == 0 { String::new() } else { format!("(?:{H16}(?::{H16}){{0,{}}})?", after - 1) };
        forms.push(format!("{left}::{right}"));
    }
    format!("(?:{})", forms.join("|"))
}

fn email() -> String {
    let atom = r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,64}";
    format!(r"{atom}(?:\.{atom})*@(?:{LABEL}\.){{1,4}}{LABEL}")
}

fn uri_path_query() -> String {
    format!(r"(?:\?(?:{PCHAR}|[/?])*)?(?:#(?:{PCHAR}|[/?])*)?")
}

fn uri() -> String {
    let host = format!("(?:{}|{LABEL}(?:\\.{LABEL})*)", ipv4());
    let user = r"(?:[A-Za-z0-9._~-]{1,64}@)?";
    let tail = uri_path_query();
    format!(
        r"[a-zA-Z][a-zA-Z0-9+.-]{{0,30}}:(?://{user}{host}(?::[0-9]{{1,5}})?(?:/{PCHAR}*)*|{PCHAR}+(?:/{PCHAR}*)*){tail}"
    )
}

fn uri_reference() -> String {
    // A first segment with a colon would read as a scheme.
    let first = r"(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})+";
    format!(r"(?:{}|(?:/|{first})?(?:/{PCHAR}+)*{})", uri(), uri_path_query())
}

/// What a string of the format looks like; None for a name that is not known.
pub fn expression(name: &str) -> Option<String> {
    let text = match name {
        "date" => DATE.to_string(),
        "time" => TIME.to_string(),
        "date-time" => format!("{DATE}T{TIME}"),
        "duration" => DURATION.to_string(),
        "email" => email(),
        "hostname" => format!(r"{LABEL}(?:\.{LABEL}){{0,2}}"),
        "ipv4" => ipv4(),
        "ipv6" => ipv6(),
        "uuid" => UUID.to_string(),
        "uri" => uri(),
        "uri-reference" => uri_reference(),
        "byte" => BASE64.to_string(),
        "json-pointer" => POINTER.to_string(),
        _ => return None,
    };
    Some(format!("^(?:{text})$"))
}
