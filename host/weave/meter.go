// SPDX-License-Identifier: Apache-2.0

package weave

// Split divides a budget into what the fuel and the budget cell hold when a
// call begins. A negative budget counts as none.
func Split(units int64) (fuel, budget int64) {
	units = min(max(units, 0), MaxBudget)
	fuel = min(units, SliceUnits)
	return fuel, units - fuel
}

// MaxBudget is the largest budget of a call; beyond it charges could overflow.
const MaxBudget = 1 << 61

// Cell is a global of an instance, as an engine gives access to it.
type Cell interface {
	Get() uint64
	Set(uint64)
}

// Meter grants fuel to an instance of a woven module and says where it went.
// It is for one goroutine at a time, as the instance is.
type Meter struct {
	// Fuel, Budget and Stack are the cells exported as FuelExport,
	// BudgetExport and StackExport.
	Fuel, Budget, Stack Cell
	granted             int64
}

// Grant sets the budget of the next call, in units; what was left is lost.
func (m *Meter) Grant(units int64) {
	fuel, budget := Split(units)
	m.granted = fuel + budget
	m.Fuel.Set(uint64(fuel))
	m.Budget.Set(uint64(budget))
}

// Left returns what is left of the budget. It is negative if more was used.
func (m *Meter) Left() int64 { return int64(m.Fuel.Get()) + int64(m.Budget.Get()) }

// Spent returns what was used since Grant, in units. It is exact after a call
// that returned. A call that ran out of fuel spent one unit more than it was
// granted; after another trap the units since the last call, made or returned
// from, are missing. The end of a call may overdraw by some 2,000 units, as
// fuel is looked at only at function entries, loops and bulk instructions.
func (m *Meter) Spent() int64 { return m.granted - m.Left() }

// OutOfFuel reports whether the budget is used up, which is why a call that
// then trapped as unreachable did so.
func (m *Meter) OutOfFuel() bool { return m.Left() < 0 }

// StackExhausted reports whether calls were nested too deep, which is why a
// call that then trapped as unreachable did so.
func (m *Meter) StackExhausted() bool { return int32(uint32(m.Stack.Get())) < 0 }

// Charge takes units for what a host function does, before it does it, and
// reports whether the budget covers them: if it doesn't, the host function
// should end the call. The cells are up to date while a host function runs.
func (m *Meter) Charge(units int64) bool {
	units = min(max(units, 0), MaxBudget)
	left := m.Left() - units
	if left < 0 {
		m.Fuel.Set(^uint64(0))
		m.Budget.Set(0)
		return false
	}
	m.Fuel.Set(uint64(int64(m.Fuel.Get()) - units))
	return true
}
