//! Messages as frames: `identities .. <IDS|MSG> signature header parent metadata content buffers ..`.
//!
//! Requests stay [`Value`]s: clients leave out fields, or send more than they should, and still want an
//! answer. **Source**: the Jupyter client documentation, "Messaging in Jupyter", the wire protocol.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

/// The parts of a ZeroMQ message.
pub(crate) type Frames = Vec<Vec<u8>>;

/// Version of the protocol that is spoken.
pub(crate) const PROTOCOL: &str = "5.5";
const DELIMITER: &[u8] = b"<IDS|MSG>";
/// Header, parent header, metadata, content.
const N_SIGNED: usize = 4;
/// Bytes of a message: nobody knows who sent it before it is here as a whole.
pub(crate) const MOST_BYTES: usize = 64 << 20;
/// Messages that are known again, as many as Jupyter itself remembers.
const REMEMBERED: usize = 1 << 16;

/// A message from a client.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Whom to answer.
    pub(crate) identities: Frames,
    pub(crate) header: Value,
    pub(crate) content: Value,
}

impl Request {
    /// What is asked: `execute_request`.
    pub(crate) fn kind(&self) -> &str {
        self.header["msg_type"].as_str().unwrap_or_default()
    }

    /// A text of the content; empty if it is absent.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.content[field].as_str().unwrap_or_default()
    }

    /// A switch of the content.
    pub(crate) fn flag(&self, field: &str, default: bool) -> bool {
        self.content[field].as_bool().unwrap_or(default)
    }
}

/// Why frames are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("a message without the delimiter <IDS|MSG>")]
    Delimiter,
    #[error("a message with {0} frames after the delimiter, expected 5 or more")]
    TooShort(usize),
    #[error("a message of {0} bytes, expected at most {MOST_BYTES}")]
    TooLong(usize),
    #[error("a message whose signature does not fit its contents")]
    Signature,
    #[error("a message that came before: somebody sends it again")]
    Replayed,
    #[error("a message whose {0} is no JSON object")]
    Json(&'static str),
}

/// Signs what is sent and checks what comes.
pub(crate) struct Wire {
    signer: Option<Hmac<Sha256>>,
    seen: Mutex<Seen>,
    session: String,
    n_sent: AtomicU64,
}

/// Signatures of the messages that came last.
#[derive(Default)]
struct Seen {
    known: HashSet<Vec<u8>>,
    oldest_first: VecDeque<Vec<u8>>,
}

impl Seen {
    /// Remembers a signature; false if it was known.
    fn is_new(&mut self, signature: Vec<u8>) -> bool {
        if !self.known.insert(signature.clone()) {
            return false;
        }
        self.oldest_first.push_back(signature);
        if self.oldest_first.len() > REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl Wire {
    /// Messages are not signed if the key is empty.
    pub(crate) fn new(key: &str) -> Self {
        let signer = (!key.is_empty()).then(|| {
            Hmac::new_from_slice(key.as_bytes())
                .expect("internal error: HMAC takes keys of any size")
        });
        Self {
            signer,
            seen: Mutex::default(),
            session: uuid::Uuid::new_v4().simple().to_string(),
            n_sent: AtomicU64::new(0),
        }
    }

    /// Reads the frames of a message.
    pub(crate) fn read(&self, mut frames: Frames) -> Result<Request, WireError> {
        let bytes = frames.iter().map(Vec::len).sum();
        if bytes > MOST_BYTES {
            return Err(WireError::TooLong(bytes));
        }
        let delimiter = frames.iter().position(|frame| frame == DELIMITER);
        let rest = frames.split_off(delimiter.ok_or(WireError::Delimiter)?);
        let [_, signature, signed @ ..] = &rest[..] else { return Err(WireError::TooShort(0)) };
        if signed.len() < N_SIGNED {
            return Err(WireError::TooShort(signed.len() + 1));
        }
        let signed = &signed[..N_SIGNED];
        if let Some(mut signer) = self.signer.clone() {
            let given = hex::decode(signature).map_err(|_| WireError::Signature)?;
            signed.iter().for_each(|frame| signer.update(frame));
            signer.verify_slice(&given).map_err(|_| WireError::Signature)?;
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if !seen.is_new(given) {
                return Err(WireError::Replayed);
            }
        }
        let object = |frame: &[u8], what| {
            let value = serde_json::from_slice::<Value>(frame).ok();
            value.filter(Value::is_object).ok_or(WireError::Json(what))
        };
        let (header, content) = (object(&signed[0], "header")?, object(&signed[3], "content")?);
        Ok(Request { identities: frames, header, content })
    }

    /// The frames of a message to `identities`, caused by the one with the header `parent`.
    pub(crate) fn write(
        &self,
        identities: &[Vec<u8>],
        kind: &str,
        parent: &Value,
        content: &Value,
    ) -> Frames {
        let number = self.n_sent.fetch_add(1, Ordering::Relaxed);
        let header = json!({
            "msg_id": format!("{}_{}_{number}", self.session, std::process::id()),
            "session": self.session,
            "username": "porcini",
            "date": humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            "msg_type": kind,
            "version": PROTOCOL,
        });
        let parent = if parent.is_object() { parent.to_string() } else { "{}".into() };
        let signed = [header.to_string(), parent, "{}".into(), content.to_string()];
        let signature = self.signer.clone().map_or_else(String::new, |mut signer| {
            signed.iter().for_each(|frame| signer.update(frame.as_bytes()));
            hex::encode(signer.finalize().into_bytes())
        });
        let mut frames = identities.to_vec();
        frames.push(DELIMITER.to_vec());
        frames.push(signature.into_bytes());
        frames.extend(signed.map(String::into_bytes));
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(wire: &Wire) -> Frames {
        wire.write(&[b"me".to_vec()], "execute_request", &Value::Null, &json!({"code": "1"}))
    }

    #[test]
    fn what_is_written_is_read() {
        for key in ["", "secret"] {
            let wire = Wire::new(key);
            let mut frames = sent(&wire);
            frames.push(b"a buffer".to_vec());
            let request = wire.read(frames).unwrap();
            assert_eq!((request.kind(), request.text("code")), ("execute_request", "1"));
            assert_eq!(request.identities, [b"me"]);
            assert!(request.flag("store_history", true));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let wire = Wire::new("secret");
        let error = |change: &dyn Fn(&mut Frames)| {
            let mut frames = sent(&wire);
            change(&mut frames);
            wire.read(frames).unwrap_err()
        };
        assert_eq!(error(&|frames| frames.clear()), WireError::Delimiter);
        assert_eq!(error(&|frames| frames.truncate(2)), WireError::TooShort(0));
        for n in 3..7 {
            assert_eq!(error(&|frames| frames.truncate(n)), WireError::TooShort(n - 2));
        }
        for wrong in [&b"zz"[..], b"", b"00"] {
            assert_eq!(error(&|frames| frames[2] = wrong.to_vec()), WireError::Signature);
        }
        assert_eq!(error(&|frames| frames[6] = b"{}".to_vec()), WireError::Signature);
        for i in [0, 7] {
            let long = |frames: &mut Frames| frames.insert(i, vec![0; MOST_BYTES]);
            assert!(matches!(error(&long), WireError::TooLong(n) if n > MOST_BYTES));
        }
        let unsigned = Wire::new("");
        for content in [&b"[]"[..], b"{", b"\xff", b""] {
            let mut frames = sent(&unsigned);
            frames[6] = content.to_vec();
            assert_eq!(unsigned.read(frames).unwrap_err(), WireError::Json("content"));
        }
    }

    #[test]
    fn a_message_is_taken_once() {
        let wire = Wire::new("secret");
        let frames = sent(&wire);
        assert!(wire.read(frames.clone()).is_ok());
        assert_eq!(wire.read(frames.clone()).unwrap_err(), WireError::Replayed);
        // Nor in other clothes: what is not signed may have changed.
        let mut changed = frames;
        changed[0] = b"somebody else".to_vec();
        changed[2].make_ascii_uppercase();
        changed.push(b"a buffer".to_vec());
        assert_eq!(wire.read(changed).unwrap_err(), WireError::Replayed);
        // Without signatures all that is equal looks alike.
        let unsigned = Wire::new("");
        let frames = sent(&unsigned);
        assert!(unsigned.read(frames.clone()).is_ok() && unsigned.read(frames).is_ok());
    }

    #[test]
    fn only_the_last_messages_are_remembered() {
        let mut seen = Seen::default();
        let signature = |i: usize| i.to_le_bytes().to_vec();
        for i in 0..REMEMBERED + 1 {
            assert!(seen.is_new(signature(i)) && !seen.is_new(signature(i)));
        }
        assert_eq!((seen.known.len(), seen.oldest_first.len()), (REMEMBERED, REMEMBERED));
        assert!(!seen.is_new(signature(1)) && seen.is_new(signature(0)));
    }
}
