package trocar_test

import (
	"context"
	"fmt"
	"log"

	"trocar"
)

// This program compiles a script for another machine and lists the probe points. It needs no rights to trace.
func ExampleCompile() {
	ctx := context.Background()
	machine, err := trocar.NewMachine("arm64", "5.10")
	if err != nil {
		log.Fatal(err)
	}
	program, err := trocar.Compile(ctx, trocar.Request{
		Script: `begin { printf("%d CPUs\n", ncpus); } interval:ms:100 { @ = count(); } interval:s:$1 { exit(); }`,
		Params: []string{"10"},
	}, machine)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	for _, warning := range program.Warnings() {
		fmt.Println(warning.String())
	}
	for _, point := range program.Points() {
		fmt.Println(point)
	}
	// Output:
	// begin
	// interval:ms:100
	// interval:s:10
}
