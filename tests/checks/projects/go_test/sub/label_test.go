package sub

import (
	"testing"

	"example.org/shop"
)

func TestPasses(t *testing.T) {}

func TestLabel(t *testing.T) { shop.Label(nil) }
