package additions

import (
	"testing"
	"time"
)

// staff creates a person who works every day from 09:00 to 17:00 in the company's zone, with the
// differences in more.
func (c *caller) staff(t *testing.T, name string, more object) object {
	t.Helper()
	made := c.create(t, "/staff", with(object{"name": name}, more))
	var weekly []object
	for weekday := 1; weekday <= 7; weekday++ {
		weekly = append(weekly, object{"weekday": weekday, "starts": "09:00", "ends": "17:00"})
	}
	c.write(t, 200, put, path(text(made, "id"))+"/hours", object{"weekly": weekly, "dates": []object{}})
	return c.get(t, path(text(made, "id")))
}

func (c *caller) room(t *testing.T, name string, more object) object {
	t.Helper()
	return c.create(t, "/rooms", with(object{"name": name}, more))
}

func testStaff(t *testing.T, p *platform) {
	c := p.newCaller(t)
	t.Run("a person has a name, a colour and a version", func(t *testing.T) {
		made := c.create(t, "/staff", object{"name": "Zoë Ångström", "email": "zoe@example.com", "bio": "Teaches clay.", "color": "#A1B2C3", "photoUrl": "https://example.com/zoe.jpg"})
		has(t, made, object{"name": "Zoë Ångström", "email": "zoe@example.com", "color": "#a1b2c3", "active": true, "photoUrl": "https://example.com/zoe.jpg"})
		has(t, c.change(t, text(made, "id"), object{"active": false, "bio": ""}), object{"active": false, "name": "Zoë Ångström"})
		c.lists(t, "/staff?active=false", text(made, "id"))
		revalidates(t, c.Face, path(text(made, "id")))
	})
	t.Run("faults name their members", func(t *testing.T) {
		for member, body := range map[string]object{
			"name": {"name": ""}, "email": {"email": "zoe"}, "color": {"color": "red"}, "photoUrl": {"photoUrl": "ftp://example.com"},
		} {
			refused := c.Read(t, 400, post, "/staff", with(object{"name": "Zoë"}, body))
			if field := text(refused, "error.details.field"); field != member {
				t.Errorf("%v: %v", body, refused)
			}
		}
	})
	t.Run("hours are replaced as a whole", func(t *testing.T) {
		sam := path(text(c.create(t, "/staff", object{"name": "Sam"}), "id"))
		has(t, c.get(t, sam+"/hours"), object{"weekly": []object{}, "dates": []object{}})
		hours := object{
			"weekly": []object{{"weekday": 1, "starts": "09:00", "ends": "12:30"}, {"weekday": 1, "starts": "22:00", "ends": "02:00"}, {"weekday": 7, "starts": "00:00", "ends": "24:00"}},
			"dates":  []object{{"date": "2027-12-24", "ranges": []object{{"starts": "10:00", "ends": "13:00"}}}, {"date": "2027-12-25", "ranges": []object{}}},
		}
		stored := decode(t, c.write(t, 200, put, sam+"/hours", hours))
		has(t, stored, object{"weekly.1.starts": "22:00", "weekly.1.ends": "02:00", "weekly.1.timezone": "Europe/London", "weekly.2.ends": "24:00",
			"dates.0.ranges.0.ends": "13:00", "dates.1.ranges": []object{}})
		has(t, decode(t, c.write(t, 200, put, sam+"/hours", stored)), object{"weekly": stored["weekly"], "dates": stored["dates"]})
		for name, wrong := range map[string]object{
			"no minute 60":         {"weekly": []object{{"weekday": 1, "starts": "09:60", "ends": "12:00"}}},
			"no weekday 8":         {"weekly": []object{{"weekday": 8, "starts": "09:00", "ends": "12:00"}}},
			"no such day":          {"dates": []object{{"date": "2027-02-29", "ranges": []object{}}}},
			"each day only once":   {"dates": []object{{"date": "2027-02-28", "ranges": []object{}}, {"date": "2027-02-28", "ranges": []object{}}}},
			"24:00 is not a start": {"weekly": []object{{"weekday": 1, "starts": "24:00", "ends": "02:00"}}},
			"no such zone":         {"weekly": []object{{"weekday": 1, "starts": "09:00", "ends": "12:00", "timezone": "Europe/Leeds"}}},
		} {
			t.Run(name, func(t *testing.T) {
				c.refuses(t, "VALIDATION_ERROR", put, sam+"/hours", with(object{"weekly": []object{}, "dates": []object{}}, wrong))
			})
		}
	})
	t.Run("holidays are unique by day and location", func(t *testing.T) {
		made := c.write(t, 201, post, "/holidays", object{"date": "2027-12-25", "name": "Christmas Day"})
		id := text(decode(t, made), "id")
		c.lists(t, "/holidays?from=2027-12-25&to=2027-12-25", id)
		c.lists(t, "/holidays?from=2027-12-26")
		c.refuses(t, "HOLIDAY_EXISTS", post, "/holidays", object{"date": "2027-12-25", "name": "Again"})
		has(t, c.delete(t, "/holidays/"+id), object{"deleted": true})
		c.Send(t, 404, remove, "/holidays/"+id, nil)
	})
	t.Run("rooms have units", func(t *testing.T) {
		laser := c.room(t, "Laser", object{"kind": "equipment", "capacity": 2})
		has(t, laser, object{"name": "Laser", "kind": "equipment", "capacity": 2, "active": true})
		has(t, c.room(t, "Blue room", nil), object{"kind": "room", "capacity": 1})
		has(t, c.change(t, text(laser, "id"), object{"capacity": 3}), object{"capacity": 3})
		c.refuses(t, "VALIDATION_ERROR", patch, path(text(laser, "id")), object{"capacity": 0})
	})
}

// london returns an instant in London: the date that is a number of days from now, and a time of day.
func london(t *testing.T, days int, clock string) string {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", date(days)+" "+clock, inLondon(time.Now()).Location())
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC().Format(time.RFC3339)
}
