/// ```
/// assert_eq!(shop::total(&[]), 0);
/// ```
pub fn total(prices: &[i32]) -> i32 {
    prices.iter().sum::<i32>() + 1
}

pub fn label(name: Option<&str>) -> String {
    name.unwrap().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(total(&[1, 2]), 3);
    }

    #[test]
    fn says_so() {
        assert!(total(&[]) == 0, "nothing is not free");
    }

    #[test]
    fn labels_nothing() {
        label(None);
    }

    #[test]
    fn returns_an_error() -> Result<(), String> {
        Err("no".to_string())
    }

    #[test]
    #[ignore]
    fn later() {}
}
