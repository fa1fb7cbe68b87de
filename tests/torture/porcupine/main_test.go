package main

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

func history(operations ...operation) []porcupine.Operation {
	var all []porcupine.Operation
	for i, op := range operations {
		all = append(all, porcupine.Operation{ClientId: i, Input: op, Call: int64(2 * i), Return: int64(2*i + 1)})
	}
	return all
}

func TestTheModelKnowsWhatAFenceMayAnswer(t *testing.T) {
	mark := operation{"mark", "exclusive", "02", "-", "ok"}
	write := operation{"write", "exclusive", "02", "x", "ok"}
	for name, one := range map[string]struct {
		good    bool
		history []porcupine.Operation
	}{
		"what was written is read":       {true, history(write, operation{"read", "shared", "03", "x", "ok"})},
		"something else is read":         {false, history(write, operation{"read", "shared", "03", "y", "ok"})},
		"an overtaken write is refused":  {true, history(mark, operation{"write", "exclusive", "01", "y", "overtaken"})},
		"an overtaken write is admitted": {false, history(mark, operation{"write", "exclusive", "01", "y", "ok"})},
		"a later write is refused":       {false, history(mark, operation{"write", "exclusive", "03", "y", "overtaken"})},
		"a reader's token stops a writer with the same one": {false,
			history(operation{"mark", "shared", "02", "-", "ok"}, write)},
		"a killed writer has written": {true, history(operation{"write", "exclusive", "01", "x", "pending"},
			operation{"read", "shared", "02", "x", "ok"})},
		"a killed writer has only marked": {true, history(operation{"write", "exclusive", "01", "x", "pending"},
			operation{"read", "shared", "01", "nothing", "ok"})},
	} {
		if porcupine.CheckOperations(model.ToModel(), one.history) != one.good {
			t.Errorf("%s: expected %v", name, one.good)
		}
	}
}
