// Package translate turns CUE expressions that refer to other fields of the
// instance into CEL rules.
//
// Such an expression can't be translated where it is read: the shapes of the
// fields that it names are not known yet. It waits as a [Pending] in the
// [Frame] of the outermost struct that it refers to. When all fields of that
// struct have been read, [Frame.Finish] translates what is pending and adds the
// rules to the struct's shape.
//
// frame.go has frames and pending expressions, finish.go turns them into rules.
// fieldrule.go has the rules for fields with an expression, such as
//
//	max: int & >=min
//
// comprehension.go the rules for ifs, and given.go those for fields that must
// be given unless an if supplies them. translate.go, arithmetic.go, compare.go,
// guard.go and access.go translate the parts of expressions; translator.go has
// their types. shared.go drops the defaults of fields that others are equal to.
//
// A rule never rejects what CUE accepts. What can't be translated, or is
// translated only in part, is returned as notes. The set of translated forms is
// not meant to grow without a module that needs it.
//
// For the field above, where min is required and max has a default, the rule of
// the struct is
//
//	!has(self.max) || self.max >= self.min
//
// and for
//
//	if mode == "external" {host!: string}
//
// it is
//
//	!(self.mode == 'external') || has(self.host)
//
// with a second rule that host is only allowed if mode is external. Within a
// rule, self stands for the struct of the frame.
package translate
