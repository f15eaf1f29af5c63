package trocar_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"trocar"
	"trocar/result"
)

// A receiver takes events: each kind is a type of its own.
type receiver struct{}

func (receiver) Event(e result.Event) error {
	switch e := e.(type) {
	case *result.Print:
		dish, n := e.Value.Elems[0].Text, int64(e.Value.Elems[1].Num)
		fmt.Printf("serve was called with the dish %q and the number %d\n", dish, n)
	case *result.PrintMap:
		for _, entry := range e.Map.Entries {
			fmt.Printf("%s is %d\n", e.Map.Name, entry.Value.Num)
		}
	case *result.Lost:
		fmt.Printf("%d %s lost\n", e.Count, e.What)
	}
	return nil
}

func (receiver) Flush() error { return nil }

// This program starts a command, traces a function of it, and receives events with typed values.
func Example() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	shop := filepath.Join(dir, "shop")
	build := exec.Command("go", "build", "-o", shop)
	build.Dir = "testdata/shop"
	if err := build.Run(); err != nil {
		log.Fatal(err)
	}

	request := trocar.Request{
		Script: `uprobe:` + shop + `:main.serve { print((args.dish, args.n)); @calls++; }`,
		Target: trocar.Target{Command: []string{shop}},
	}
	exit, err := trocar.Run(context.Background(), request, os.Environ(), receiver{}, trocar.Hooks{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the command:", exit.Command)
	// Output:
	// serve was called with the dish "soup" and the number 1
	// @calls is 1
	// the command: exit status 0
}
