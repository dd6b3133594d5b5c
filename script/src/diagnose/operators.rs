//! Operators on values that they do not take.

use crate::diagnose::diagnosis::{Diagnosis, OF_NDARRAY, OF_NOTHING};
use crate::diagnose::matrices;
use crate::diagnose::wording::friendly_types;

impl Diagnosis<'_> {
    /// An operator on values that it does not take.
    pub(super) fn no_operator(&mut self, operator: &str, arguments: &str) -> String {
        let types = friendly_types(arguments);
        let is_order = matches!(operator, "<" | "<=" | ">" | ">=");
        if operator.starts_with("..") && types.contains("float") {
            self.hints.push("idiv(n, 2) divides integers; to_int(x) makes one of a float".into());
        } else if is_order && types.contains("bool") {
            self.hints.push("comparisons are joined: a < b && b < c".into());
        } else if is_order && types.contains("text") {
            self.hints.push("parse_float(text) is the number that it says".into());
        } else if operator == "**" && types.contains("array") {
            self.hints.push("for powers other than integers write exp(b * log(a))".into());
        } else if types.contains("()") {
            self.hints.push(OF_NOTHING.into());
        } else if matches!(operator, "==" | "!=") && types.contains("list") {
            self.hints.push(format!(
                "MaskC(list.map(|item| item {operator} x)) compares each item; of a category [names, group] write group \
                 {operator} names.index_of(x)"
            ));
        } else if types.contains("ndarray") {
            self.hints.push(OF_NDARRAY.into());
        } else if types.contains("list") {
            let line = self.location.map_or("", |location| location.text.as_str());
            let of_lists = if matrices::has_lists_in_lists(line) {
                "lists do not compute: a matrix is TensorXfC([[1, 2], [3, 4]])"
            } else {
                "lists do not compute: an array is FloatC([1, 2, 3]), a vector Vector3fC(1, 2, 3)"
            };
            self.hints.push(of_lists.into());
        } else if types.contains("text") {
            self.hints.push("texts are joined with +; with values in them as `x = ${x}`".into());
        } else if types.contains("bool") {
            self.hints.push("a bool is no number: if b { 1 } else { 0 } makes one of it".into());
        } else if types.contains("u64") {
            let advice = "integers from 2^63 on have few operators: compute with UInt64C(..)";
            self.hints.push(advice.into());
        }
        format!("`{operator}` is not defined for ({types})")
    }
}
