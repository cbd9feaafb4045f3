// Package pictures makes the pictures of the documents in docs/pictures from real runs
// of the programs: `make pictures` runs its tests with -update.
//
// Without -update, the tests check that the drawings are those that the programs make
// now: the terminal pictures, which [terminal] draws from colored output, and the
// architecture. Screenshots depend on fonts and on the browser, so they can't be compared;
// they are only made and looked at.
package pictures
