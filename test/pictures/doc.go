// Package pictures makes the pictures of the documents in docs/pictures from real runs
// of the programs: `make pictures` runs its tests with -update.
//
// Without -update, the tests check that the drawings are those that the programs make
// now: the terminal pictures, which [terminal] draws from colored output, and the
// architecture. Those of apply and status come from a test cluster; times and the random parts
// of names in them may differ. Screenshots depend on fonts and on the browser, so they can't be compared;
// they are only made and looked at.
package pictures
