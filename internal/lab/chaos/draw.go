package chaos

import (
	"slices"
	"time"
)

// draw adds one fault at this moment: the first kind of a shuffled deck that is
// possible now. A deck is used up before the next, so that every kind comes.
func (p *planner) draw() {
	for range 2 {
		for i, kind := range p.deck {
			if step, ok := p.step(kind); ok {
				p.deck = slices.Delete(p.deck, i, i+1)
				p.add(step)
				return
			}
		}
		fresh := slices.Clone(kinds)
		p.rng.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
		p.deck = append(p.deck, fresh...)
	}
}

func (p *planner) add(s Step) {
	s.At = p.at
	if s.At+s.For > p.cfg.Length {
		s.For = p.cfg.Length - s.At
	}
	p.busy[s.Target] = max(p.busy[s.Target], s.At+s.For+time.Second)
	p.plan.Steps = append(p.plan.Steps, s)
}

// step makes a fault of the kind, if the fleet can bear it now.
func (p *planner) step(kind Kind) (Step, bool) {
	s := Step{Kind: kind}
	switch kind {
	case KillServer:
		s.For = p.timeouts(0.1, 1.5)
		return s, p.healthy("")
	case Join:
		if len(p.workers) >= p.cfg.MaxWorkers {
			return s, false
		}
		s.Start = p.worker("")
		s.Target = s.Start.Name
		p.busy[s.Start.Name] = p.at + p.cfg.SessionTimeout
		return s, true
	case KillProducer, StallProducer:
		return p.harmProducer(s)
	}
	fits := func(spec Spec) bool { return spec.Proxied }
	switch kind {
	case KillWorker, Leave:
		if len(p.workers) <= p.cfg.MinWorkers {
			return s, false
		}
		fallthrough
	case RestartWorker, StallWorker:
		fits = func(Spec) bool { return true }
	}
	victims := p.spare(fits)
	if kind == Cut || kind == LoseAnswers {
		for _, s := range p.producers {
			if s.Proxied && p.healthy(s.Name) {
				victims = append(victims, s)
			}
		}
	}
	if len(victims) == 0 {
		return s, false
	}
	victim := victims[p.rng.IntN(len(victims))]
	s.Target = victim.Name
	switch kind {
	case KillWorker, Leave:
		p.remove(&p.workers, victim.Name)
	case RestartWorker:
		p.remove(&p.workers, victim.Name)
		s.Start = p.worker(victim.ID)
		p.busy[s.Start.Name] = p.at + p.cfg.SessionTimeout
	case StallWorker:
		s.For = p.timeouts(1.8, 3)
		if p.rng.IntN(4) == 0 {
			s.For = p.timeouts(0.2, 0.9) // too short to be missed
		}
	case Outage, BlackHole, Held:
		s.For = p.timeouts(1.8, 3)
	case Slow:
		s.For = p.timeouts(0.7, 1.7)
		s.Delay = p.between(20*time.Millisecond, 250*time.Millisecond)
	case LoseAnswers:
		s.For = p.between(100*time.Millisecond, 700*time.Millisecond)
	}
	return s, true
}

func (p *planner) harmProducer(s Step) (Step, bool) {
	victim := p.producers[p.rng.IntN(len(p.producers))]
	if !p.healthy(victim.Name) {
		return s, false
	}
	s.Target = victim.Name
	if s.Kind == StallProducer {
		s.For = p.timeouts(0.3, 1.5)
		return s, true
	}
	p.remove(&p.producers, victim.Name)
	s.Start = p.producer()
	return s, true
}
