// Delivers parcels through an interface, and weighs them in functions with arguments of several kinds.
package main

import (
	"errors"
	"fmt"
)

type address struct {
	Street string
	Number uint16
}

type parcel struct {
	ID   int32
	To   []address
	Tags map[string]int
}

type courier interface {
	Deliver(p *parcel, weight float64, note string) (string, error)
}

type van struct {
	plate string
	trips int
}

//go:noinline
func (v *van) Deliver(p *parcel, weight float64, note string) (string, error) {
	v.load(p, weight, int(p.ID))
	if len(p.To) == 0 {
		return "", errors.New("nobody to give it to")
	}
	return p.To[0].Street + " " + note, nil
}

// load is in no interface: only its receiver is known, and which of the others is no integer.
//
//go:noinline
func (v *van) load(p *parcel, weight float64, n int) {
	v.trips += deep(n)
	if weight > 1000 {
		panic(p)
	}
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return 1
	}
	var room [300]byte
	room[n%300] = 1
	return deep(n-1) * int(room[n%300])
}

//go:noinline
func half(n int) int { return n / 2 }

// double is inlined wherever it is called.
func double(n int) int { return 2*n + 1 }

//go:noinline
func pick(couriers []courier, n int) courier { return couriers[n%len(couriers)] }

func main() {
	couriers := []courier{&van{plate: "TRO-4"}}
	for i := range 5 {
		p := &parcel{ID: int32(i), To: []address{{fmt.Sprint("Street ", i), uint16(i)}}, Tags: map[string]int{"a": i}}
		if i == 4 {
			p.To = nil
		}
		text, err := pick(couriers, i).Deliver(p, 2.5, "note")
		fmt.Println(text, err, half(double(i)), double(half(i)))
	}
}
