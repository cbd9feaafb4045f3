// Package translate turns CUE expressions about several fields into CEL rules.
package translate
