// Package read reads a CUE value into a shape.
package read
