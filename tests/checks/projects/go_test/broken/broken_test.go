package broken

import "testing"

func TestBroken(t *testing.T) { var price int = "free"; _ = price }
