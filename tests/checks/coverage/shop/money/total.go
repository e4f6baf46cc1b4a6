// Package money says what a basket costs.
package money

// Total adds prices.
func Total(prices []int) int {
	// Nothing is free.
	if len(prices) == 0 {
		return 0
	}
	sum := 0

	for _, price := range prices {
		sum += price
	}
	return sum
}

func Label(name string) string { return "the " + name }
