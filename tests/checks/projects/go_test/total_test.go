package shop

import "testing"

func TestTotal(t *testing.T) {
	if got := Total(1, 2); got != 3 {
		t.Errorf("Total = %d, want 3", got)
	}
}

func TestParts(t *testing.T) {
	t.Run("passes", func(t *testing.T) {})
	t.Run("fails too", func(t *testing.T) { t.Fatal("first line\nsecond line") })
}

func TestLater(t *testing.T) { t.Skip("not today") }
