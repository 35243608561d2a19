//! The nearest name or word, for suggestions.

/// The candidate nearest to `name`, if one is near enough to be meant; the first of several in alphabetical order.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = name.chars().count();
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| {
            let longer = length.max(candidate.chars().count());
            *distance <= (longer / 3).max(1) && *distance < longer
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words; case does not count.
fn distance(from: &str, to: &str) -> usize {
    const LONGEST: usize = 64;
    let from: Vec<char> = from.to_lowercase().chars().take(LONGEST).collect();
    let to: Vec<char> = to.to_lowercase().chars().take(LONGEST).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut next = vec![i.saturating_add(1)];
        for (j, wanted) in to.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let deleted = get(&row, j.saturating_add(1)).saturating_add(1);
            let inserted = get(&next, j).saturating_add(1);
            let replaced = get(&row, j).saturating_add(usize::from(letter != wanted));
            let mut best = deleted.min(inserted).min(replaced);
            if let (Some(i), Some(j)) = (i.checked_sub(1), j.checked_sub(1))
                && from.get(i) == Some(wanted)
                && to.get(j) == Some(letter)
            {
                best = best.min(get(&before, j).saturating_add(1));
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let names = ["name", "age", "department", "boss"];
        assert_eq!(nearest("nmae", names), Some("name"));
        assert_eq!(nearest("Age", names), Some("age"));
        assert_eq!(nearest("departmnet", names), Some("department"));
        assert_eq!(nearest("salary", names), None);
        assert_eq!(nearest("x", names), None);
    }

    #[test]
    fn neighbours_that_changed_places_count_once() {
        assert_eq!(distance("form", "from"), 1);
        assert_eq!(distance("selct", "select"), 1);
        assert_eq!(distance("", "set"), 3);
        assert_eq!(distance("Where", "where"), 0);
    }
}
