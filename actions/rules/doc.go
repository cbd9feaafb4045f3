// Package rules is the pure state machine of one rule of a Monitor: when the rule holds, and
// when it fires.
//
// [Next] is the entry point. It takes the memory of a rule and one observation, and returns the
// next memory and a verdict. It reads no clock. The memory is all that must survive a restart.
package rules
