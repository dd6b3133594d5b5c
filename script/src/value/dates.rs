//! Dates as numbers: seconds since 1970-01-01, UTC, as the calendar of today counts them before its time, too.

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
/// Days of 400 years.
const ERA: i64 = 146_097;

/// Reads `2024-02-29`, `2024/02/29`, `2024-02-29T12:30`, `2024-02-29 12:30:00.25`, with `Z` or `+01:00` behind a time.
pub(crate) fn parse(text: &[u8]) -> Option<f64> {
    let (date, time) = text.split_at_checked(10)?;
    let separator = date[4];
    if !matches!(separator, b'-' | b'/') || date[7] != separator {
        return None;
    }
    let (year, month, day) = (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?);
    if !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "days of ten thousand years")]
    let days = days(year, month, day) as f64;
    match time.split_first() {
        None => Some(days * DAY),
        Some((b'T' | b't' | b' ', time)) => Some(days * DAY + time_of_day(time)?),
        Some(_) => None,
    }
}

/// `2024-02-29`, with `12:30:00.25` behind a blank unless a day begins; nothing for what is no date of these years.
pub(crate) fn text(seconds: f64) -> String {
    // Microseconds, the finest that texts have.
    let seconds = (seconds * 1e6).round() / 1e6;
    let day = (seconds / DAY).floor();
    if !(-719_528.0..2_932_897.0).contains(&day) {
        return String::new();
    }
    #[expect(clippy::cast_possible_truncation, reason = "days of ten thousand years")]
    let (year, month, date) = date(day as i64);
    let rest = seconds - day * DAY;
    let text = format!("{year:04}-{month:02}-{date:02}");
    if rest == 0.0 {
        return text;
    }
    let (hours, minutes) = ((rest / 3600.0).floor(), (rest % 3600.0 / 60.0).floor());
    let seconds = format!("{:09.6}", rest % 60.0);
    let seconds = seconds.trim_end_matches(".000000");
    let seconds = if seconds.contains('.') { seconds.trim_end_matches('0') } else { seconds };
    format!("{text} {hours:02}:{minutes:02}:{seconds}")
}

/// Seconds of `12:30`, `12:30:00.25`, less the distance of a zone.
fn time_of_day(text: &[u8]) -> Option<f64> {
    let end = text.iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-'));
    let (time, zone) = text.split_at(end.unwrap_or(text.len()));
    let (clock, seconds) = match time.split_at_checked(5)? {
        (clock, []) => (clock, 0.0),
        (clock, [b':', seconds @ ..]) => (clock, seconds_of(seconds)?),
        _ => return None,
    };
    let zone = match zone {
        [] | [b'Z' | b'z'] => 0,
        [sign, h1, h2, b':', rest @ ..] | [sign, h1, h2, rest @ ..] => {
            let [m1, m2] = if rest.is_empty() { b"00" } else { rest.first_chunk::<2>()? };
            let minutes = minutes(&[*h1, *h2, b':', *m1, *m2]).filter(|_| rest.len() <= 2)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "minutes of a day")]
    Some(((minutes(clock)? - zone) * 60) as f64 + seconds)
}

/// `30`, `30.25`; a second that was put in counts to the next minute.
fn seconds_of(text: &[u8]) -> Option<f64> {
    let plain = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let seconds: f64 = str::from_utf8(text).ok()?.parse().ok()?;
    (plain && text.len() >= 2 && seconds < 61.0).then_some(seconds)
}

/// Minutes of `12:30`.
fn minutes(clock: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2] = clock else { return None };
    let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// A number of digits and nothing else.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years begin in March here, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

/// Year, month and day of a number of days since 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_come_back() {
        for day in -719_528..2_932_897 {
            let (year, month, date) = date(day);
            assert_eq!(days(year, month, date), day);
            assert!((1..=days_of(year, month)).contains(&date));
        }
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(19_782), (2024, 2, 29));
    }

    #[test]
    fn texts_are_dates_or_none() {
        for (text, want) in [
            ("1970-01-01", Some(0.0)),
            ("2024/02/29", Some(1_709_164_800.0)),
            ("2024-02-29T12:30", Some(1_709_209_800.0)),
            ("2024-02-29 12:30:00.25Z", Some(1_709_209_800.25)),
            ("2024-02-29T12:30:00+01:30", Some(1_709_204_400.0)),
            ("2024-02-29T12:30:00-0130", Some(1_709_215_200.0)),
            ("2024-02-29T12:30-01", Some(1_709_213_400.0)),
            ("2023-02-29", None),
            ("2024-13-01", None),
            ("2024-1-1", None),
            ("2024-02-29T24:00", None),
            ("2024-02-29T12:30:1e1", None),
            ("2024-02-29T12:30:00+1", None),
            ("2024-02-29T12:30:00+01:300", None),
            ("2024-02-29x", None),
            ("", None),
        ] {
            assert_eq!(parse(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn dates_have_texts() {
        for text_of in ["0001-01-01", "1969-12-31 23:59:59.5", "2024-02-29 00:00:01", "9999-12-31"]
        {
            assert_eq!(text(parse(text_of.as_bytes()).unwrap()), text_of);
        }
        for none in [f64::NAN, f64::INFINITY, 1e15, -1e15] {
            assert_eq!(text(none), "");
        }
    }
}
