// Checks histories of fenced resources with Porcupine: is there an order of all operations, each between its call and its
// answer, in which a fence would have answered as this one did?
//
// usage: porcupine FILE
// A line of the file: fence, call, done (- if never), operation, mode, token, value, outcome; between tabs, times in ns.
// Exit code 0: yes, for each fence; 1: no; 2: not known within the time, or bad input.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct{ kind, mode, token, value, outcome string }

// The marks of a fence, and the value behind it. Tokens compare as text.
type state struct{ exclusive, shared, value string }

func (s state) admits(op operation) bool {
	return op.token >= s.exclusive && (op.mode == "shared" || op.token > s.shared)
}

func (s state) marked(op operation) state {
	if op.mode == "shared" {
		s.shared = max(s.shared, op.token)
	} else {
		s.exclusive = max(s.exclusive, op.token)
	}
	return s
}

func (s state) after(op operation) state {
	s = s.marked(op)
	if op.kind == "write" {
		s.value = op.value
	}
	return s
}

// What an operation may have made of a state; nothing, if it cannot have ended as it did.
func step(before state, op operation) []state {
	admitted := before.admits(op)
	switch {
	case op.outcome == "pending" && !admitted:
		return []state{before}
	case op.outcome == "pending": // its process was killed: not begun, marked, or done
		return []state{before, before.marked(op), before.after(op)}
	case op.outcome == "ok" && admitted && (op.kind != "read" || op.value == before.value):
		return []state{before.after(op)}
	case op.outcome == "overtaken" && !admitted:
		return []state{before}
	}
	return nil
}

var model = porcupine.NondeterministicModel{
	Init: func() []interface{} { return []interface{}{state{value: "nothing"}} },
	Step: func(before, input, _ interface{}) []interface{} {
		var all []interface{}
		for _, after := range step(before.(state), input.(operation)) {
			all = append(all, after)
		}
		return all
	},
}

func parse(line string) (string, porcupine.Operation, error) {
	words := strings.Split(line, "\t")
	if len(words) != 8 {
		return "", porcupine.Operation{}, fmt.Errorf("not a line of a history: %q", line)
	}
	call, err := strconv.ParseInt(words[1], 10, 64)
	done := int64(math.MaxInt64)
	if words[2] != "-" && err == nil {
		done, err = strconv.ParseInt(words[2], 10, 64)
	}
	input := operation{kind: words[3], mode: words[4], token: words[5], value: words[6], outcome: words[7]}
	return words[0], porcupine.Operation{Input: input, Call: call, Return: done}, err
}

func read(path string) (map[string][]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fence, op, err := parse(lines.Text())
		if err != nil {
			return nil, err
		}
		op.ClientId = len(all[fence]) % 1024
		all[fence] = append(all[fence], op)
	}
	return all, lines.Err()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: porcupine FILE")
		os.Exit(2)
	}
	histories, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	decidable := model.ToModel()
	code := 0
	for fence, operations := range histories {
		switch porcupine.CheckOperationsTimeout(decidable, operations, 2*time.Minute) {
		case porcupine.Illegal:
			fmt.Printf("%s: no order of its %d operations explains the answers\n", fence, len(operations))
			code = 1
		case porcupine.Unknown:
			fmt.Printf("%s: not decided within two minutes\n", fence)
			code = max(code, 2)
		}
	}
	os.Exit(code)
}
