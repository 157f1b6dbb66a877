package reference

import "testing"

func TestJSON(t *testing.T) {
	t.Parallel()
	const description = `openapi: 3.1.0
info: { title: "A \"B\" <c>", version: '1' }
z: &z
  - 1
  - -2.5
  - 100000000
  - true
  - null
  - ~
  - 2026-03-29
  - 2026-03-29T08:30:00Z
  - "null"
  - 'no'
a: *z
200: |
  two
  lines
empty: {}
none: []
`
	const want = `{"openapi":"3.1.0","info":{"title":"A \"B\" <c>","version":"1"},` +
		`"z":[1,-2.5,100000000,true,null,null,"2026-03-29","2026-03-29T08:30:00Z","null","no"],` +
		`"a":[1,-2.5,100000000,true,null,null,"2026-03-29","2026-03-29T08:30:00Z","null","no"],` +
		`"200":"two\nlines\n","empty":{},"none":[]}` + "\n"
	if got, err := JSON([]byte(description)); err != nil || string(got) != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
	for _, invalid := range []string{"a: [", "? [a]\n: b\n", "a: &x {b: 1}\nc: {<<: *x}\n", "x: .inf\n"} {
		if got, err := JSON([]byte(invalid)); err == nil {
			t.Errorf("%q became %s", invalid, got)
		}
	}
}
