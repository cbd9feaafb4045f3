package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// run feeds observations, ten seconds apart, to a rule and returns what it did: "F" fired, "T"
// tripped, "h" holds, "." nothing. In the input, "1" is true, "0" false, "x" a failed poll, and
// letters are states while the condition is true.
func run(r Rule, observations string) string {
	var m Memory
	var out strings.Builder
	now := time.Unix(1e9, 0)
	for _, o := range observations {
		var v Verdict
		if o == 'x' {
			m = Missed(m)
		} else {
			m, v = Next(r, m, Observation{When: o != '0', Digest: string(o)}, now)
		}
		switch {
		case v.Fire:
			out.WriteByte('F')
		case v.Tripped:
			out.WriteByte('T')
		case m.Holds:
			out.WriteByte('h')
		default:
			out.WriteByte('.')
		}
		now = now.Add(10 * time.Second)
	}
	return out.String()
}

func TestNext(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, test := range map[string]struct {
		rule     Rule
		in, want string
	}{
		"enter once":                       {Rule{On: Enter}, "0111011", ".Fhh.Fh"},
		"enter at the first observation":   {Rule{On: Enter}, "11", "Fh"},
		"enter after a while":              {Rule{On: Enter, For: 20 * s}, "0110111", "......F"},
		"a failed poll ends the while":     {Rule{On: Enter, For: 20 * s}, "11x111", ".....F"},
		"a failed poll ends no holding":    {Rule{On: Enter}, "1x1", "Fhh"},
		"cooldown delays":                  {Rule{On: Enter, Cooldown: 40 * s}, "1011110", "F.hhFh."},
		"cooldown, and it is over":         {Rule{On: Enter, Cooldown: 40 * s}, "1010000", "F.h...."},
		"leave":                            {Rule{On: Leave}, "0110", ".hhF"},
		"leave after a while":              {Rule{On: Leave, For: 20 * s}, "1010001", "hhhhhFh"},
		"leave needs to have held":         {Rule{On: Leave}, "000", "..."},
		"change":                           {Rule{On: Change}, "aabba", "..F.F"},
		"change that stays":                {Rule{On: Change, For: 20 * s}, "abaabbb", "......F"},
		"change of a state that is no one": {Rule{On: Change}, "a0b", "..F"},
		"change that a cooldown delays":    {Rule{On: Change, Cooldown: 30 * s}, "abc0000", ".F..F.."},
		"change after a failed poll":       {Rule{On: Change}, "axb", "..F"},
		"while":                            {Rule{On: While, Cooldown: 20 * s}, "011111", ".FhFhF"},
		"limit":                            {Rule{On: While, Limit: 2, Per: 60 * s}, "11111111", "FFThhhFF"},
		"limit that ends":                  {Rule{On: While, Limit: 1, Per: 60 * s}, "110111", "FT.Thh"},
		"limit of enter":                   {Rule{On: Enter, Limit: 1, Per: 60 * s}, "1011111", "F.ThhhF"},
	} {
		if got := run(test.rule, test.in); got != test.want {
			t.Errorf("%s: %s yields\n%s, want\n%s", name, test.in, got, test.want)
		}
	}
}

// TestEdited changes what a rule fires on. What it remembers of the earlier rule makes it neither
// hold nor fire.
func TestEdited(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	for _, from := range []On{Enter, Leave, Change, While} {
		for _, to := range []On{Enter, Leave, Change, While} {
			if from == to {
				continue
			}
			// Each earlier rule owes a firing that its cooldown prevents.
			r, m := Rule{On: from, Cooldown: time.Hour}, Memory{Fired: []time.Time{now}}
			for _, when := range []bool{true, from != Leave} {
				m, _ = Next(r, m, Observation{When: when, Digest: fmt.Sprint("state ", when, len(m.Digest))}, now)
			}
			if !m.Owed {
				t.Fatalf("%s owes nothing: %+v", from, m)
			}
			when := to != While && to != Enter // not that which it fires on
			m, v := Next(Rule{On: to}, m, Observation{When: when, Digest: "other"}, now)
			if v.Fire || to == Change && m.Holds {
				t.Errorf("%s made of %s: fires %t: %+v", to, from, v.Fire, m)
			}
		}
	}
}

// TestClock sets the clock back while a rule waits. The wait begins again, and ends.
func TestClock(t *testing.T) {
	t.Parallel()
	for _, on := range []On{Enter, Change} {
		r, now := Rule{On: on, For: 20 * time.Second}, time.Unix(1e9, 0)
		m, _ := Next(r, Memory{}, Observation{Digest: "a"}, now)
		m, _ = Next(r, m, Observation{When: true, Digest: "b"}, now)
		now = now.Add(-time.Hour)
		m, _ = Next(r, m, Observation{When: true, Digest: "b"}, now)
		if _, v := Next(r, m, Observation{When: true, Digest: "b"}, now.Add(r.For)); !v.Fire {
			t.Errorf("%s doesn't fire after the clock was set back: %+v", on, m)
		}
	}
}

// TestNever feeds random observations to random rules. No rule fires more often than its cooldown
// and its limit allow, nor on a condition that is wrong for it, and its memory doesn't grow.
func TestNever(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := Rule{
			On:       []On{Enter, Leave, Change, While}[random.IntN(4)],
			For:      time.Duration(random.IntN(4)) * 10 * time.Second,
			Cooldown: time.Duration(random.IntN(5)) * 10 * time.Second,
			Limit:    random.IntN(4), Per: time.Minute,
		}
		if err := watch(r, random); err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, r, err)
		}
	}
}

func watch(r Rule, random *rand.Rand) error {
	var m Memory
	var fired []time.Time
	now, since, was := time.Unix(1e9, 0), time.Time{}, false
	for i := range 200 {
		now = now.Add(time.Duration(random.IntN(15)) * time.Second)
		if random.IntN(10) == 0 {
			m, since = Missed(m), time.Time{}
			continue
		}
		o := Observation{When: random.IntN(3) > 0, Digest: fmt.Sprint(random.IntN(2))}
		if o.When != was || since.IsZero() {
			was, since = o.When, now
		}
		next, v := Next(r, m, o, now)
		m = next
		if len(m.Fired) > max(r.Limit, 1) {
			return fmt.Errorf("observation %d: the memory has %d times", i, len(m.Fired))
		}
		if !v.Fire {
			continue
		}
		if n := len(fired); n > 0 && now.Sub(fired[n-1]) < r.Cooldown {
			return fmt.Errorf("observation %d: fired within the cooldown", i)
		}
		if n := len(fired); r.Limit > 0 && n >= r.Limit && now.Sub(fired[n-r.Limit]) < r.Per {
			return fmt.Errorf("observation %d: fired more often than the limit", i)
		}
		if (r.On == Enter || r.On == While) && !m.Holds || r.On == Leave && m.Holds {
			return fmt.Errorf("observation %d: fired while holds is %t", i, m.Holds)
		}
		if now.Sub(since) < r.For && len(fired) == 0 && (r.On == Enter || r.On == While) {
			return fmt.Errorf("observation %d: fired after %v", i, now.Sub(since))
		}
		fired = append(fired, now)
	}
	return nil
}
