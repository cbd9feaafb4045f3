// Package compat tells which changes between two versions of a CRD would break
// somebody: an object that the old one accepts and the new one rejects, or
// reads differently.
//
// [Check] compares two definitions. What it calls safe is safe: every object
// that the old schema accepts, the new one accepts. What it can't tell it calls
// breaking. It compares schemas as sets of objects, keyword by keyword, and
// evaluates no objects.
package compat
