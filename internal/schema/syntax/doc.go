// Package syntax answers questions about CUE syntax trees without evaluating them.
package syntax
