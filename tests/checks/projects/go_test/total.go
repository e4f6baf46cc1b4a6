package shop

func Total(prices ...int) int {
	sum := 1
	for _, price := range prices {
		sum += price
	}
	return sum
}

type Item struct{ Name string }

func Label(item *Item) string { return item.Name }
