"""True pairs for the verifier's tests: a statement in own words, the mail it rests on, and the words that bear it."""

# ruff: noqa: E501 (a table of cases reads better unbroken)

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """*quote* stands in *source*; *statement* says what it means. All people and places are invented."""

    statement: str
    source: str
    quote: str
    language: str = "en"


def _pair(statement: str, source: str, language: str = "en") -> Pair:
    """The quote is what stands between bars in *source*."""
    before, quote, after = source.split("|")
    return Pair(statement, before + quote + after, quote, language)


PAIRS = (
    _pair("The insurer takes over the damage to the Golf.", "Thank you for the photos. |We accept liability for the damage to the Golf| and close the file."),
    _pair("The Golf's repair costs are paid up to 2,340 EUR.", "After the survey, |the repair costs of the Golf are covered up to 2,340 EUR| by your policy."),
    _pair("The surveyor looks at the Golf on Tuesday morning.", "Good news: |our surveyor will look at the Golf on Tuesday morning| at your workshop."),
    _pair("A rental car is included for ten days.", "Please note that |a rental car is included for up to ten days| while yours is in the workshop."),
    _pair("The claim for the stolen bicycle was rejected.", "To our regret |the claim for the stolen bicycle has been rejected| by head office."),
    _pair("The deductible is 300 EUR per damage.", "Under your contract |the deductible amounts to 300 EUR per damage| in all cases."),
    _pair("The rent rises to 980 EUR in July.", "As announced, |the monthly rent rises to 980 EUR from July| for all flats."),
    _pair("The landlord repairs the heating this week.", "Dear tenants, |the landlord will have the heating repaired this week| by a local firm."),
    _pair("The deposit is paid back after the handover.", "As agreed |the deposit is paid back within four weeks after the handover| of the keys."),
    _pair("The lease was extended until December.", "With this letter |the lease is extended until the end of December| on the same terms."),
    _pair("Pets are allowed in the flat.", "Yes, |small pets are allowed in the flat| as long as neighbours agree."),
    _pair("The cellar was flooded after the storm.", "Sadly |the cellar was flooded after the storm| of last night."),
    _pair("The oven leaves the works on Friday.", "Dear Carla, |the oven leaves our works on Friday| with the usual carrier."),
    _pair("Delivery of the valves is delayed by two weeks.", "Bad news from the foundry: |delivery of the valves is delayed by two weeks| because of a strike."),
    _pair("The order of forty hoses was confirmed.", "Herewith |we confirm your order of forty hoses| at the price of last year."),
    _pair("The invoice for the crane is unpaid.", "A reminder: |the invoice for the crane is still unpaid| and overdue since March."),
    _pair("The supplier grants a discount of 5 %.", "For early payment |we grant a discount of 5 % on the whole order| this quarter."),
    _pair("Production of the old model ends in autumn.", "A notice for dealers: |production of the old model ends this autumn| for good."),
    _pair("The server move takes place on Saturday night.", "Heads-up: |the server move takes place on Saturday night| between two and five."),
    _pair("All passwords must be changed after the incident.", "Security asks: |all passwords must be changed after the incident| by everybody."),
    _pair("The backup of the database runs every night.", "For the record, |the backup of the database runs every night at two| on the second host."),
    _pair("The release of version 3.2 was moved to May.", "After today's tests |the release of version 3.2 has been moved to May| by the team."),
    _pair("The printer on the third floor works again.", "Update: |the printer on the third floor works again| since noon."),
    _pair("The budget for training was cut by half.", "The board decided that |the budget for training is cut by half| next year."),
    _pair("The board approved the merger.", "Minutes, item 4: |the board approved the merger with all votes| of those present."),
    _pair("The audit begins in the second week of June.", "As planned, |the audit begins in the second week of June| in the main office."),
    _pair("The contract ends with the year.", "Let me repeat: |the contract ends with the calendar year| and renews itself."),
    _pair("Travel costs are refunded within a month.", "From accounting: |travel costs will be refunded within one month| of the trip."),
    _pair("The hearing was postponed to 14 April 2026.", "The court informs you: |the hearing is postponed to 14 April 2026| at ten."),
    _pair("The lawyer advises a settlement.", "Having read all papers, |our lawyer advises a settlement out of court| for now."),
    _pair("The school trip goes to the lake.", "Dear parents, |the school trip of class 4b goes to the lake| this year."),
    _pair("Children need a packed lunch and a raincoat.", "Please remember: |every child needs a packed lunch and a raincoat| that day."),
    _pair("The piano lesson moves to Thursday.", "From next month |the piano lesson moves to Thursday afternoon| at the same place."),
    _pair("Grandmother's birthday party is at the garden restaurant.", "Settled: |grandmother's birthday party is at the garden restaurant| by the river."),
    _pair("The train tickets to Lisbon are booked.", "Done! |the train tickets to Lisbon are booked for all of us| in one coach."),
    _pair("Breakfast is part of the hotel price.", "At this hotel |breakfast is part of the price of the room| on weekdays."),
    _pair("The flight was cancelled because of fog.", "Dear passenger, |your flight was cancelled because of dense fog| this morning."),
    _pair("The vet recommends a special diet for the cat.", "After the blood test |the vet recommends a special diet for your cat| for six weeks."),
    _pair("The operation went well.", "Dear family, |the operation on his knee went very well| and he sleeps now."),
    _pair("The blood values are normal again.", "The laboratory reports: |all blood values are back to normal| this time."),
    _pair("The gym membership can be cancelled monthly.", "Under the new terms |the gym membership can be cancelled every month| in writing."),
    _pair("The choir rehearses in the parish hall.", "Until Easter |the choir rehearses in the parish hall| on Wednesdays."),
    _pair("The club's annual fee stays at 60 EUR.", "The treasurer promised: |the annual fee of the club stays at 60 EUR| for members."),
    _pair("The road to the quarry is closed.", "Attention drivers: |the road to the quarry is closed until Friday| for works."),
    _pair("The library extends the loan of the books.", "On your request |the library extends the loan of the three books| by a month."),
    _pair("The tax office grants more time for the return.", "In reply |the tax office grants more time for the tax return| until September."),
    _pair("The solar panels produce less than promised.", "Our meter shows: |the solar panels produce far less than promised| since spring."),
    _pair("Water will be turned off on Wednesday.", "Notice: |the water will be turned off on Wednesday morning| in the street."),
    _pair("The bakery delivers forty rolls to the meeting.", "All set, |the bakery delivers forty rolls to the meeting| at eight."),
    _pair("The painter needs three days for the stairs.", "He looked at it and |the painter needs three days for the stairs| alone."),
    _pair("Die Versicherung übernimmt den Wasserschaden.", "Sehr geehrte Frau Sommer, |die Versicherung übernimmt den Wasserschaden in der Küche| vollständig.", "de"),
    _pair("Der Kostenvoranschlag der Werkstatt liegt bei 1.820 Euro.", "Wie besprochen, |der Kostenvoranschlag der Werkstatt beträgt 1.820 Euro| mit Steuer.", "de"),
    _pair("Der Umzug findet am Samstag statt.", "Kurze Info: |der Umzug findet am kommenden Samstag statt| ab acht.", "de"),
    _pair("Die Heizung wird im Oktober gewartet.", "Liebe Mieter, |die Heizung wird im Oktober von der Firma gewartet| wie immer.", "de"),
    _pair("Das Paket liegt beim Nachbarn.", "Guten Tag, |Ihr Paket liegt beim Nachbarn im zweiten Stock| bereit.", "de"),
    _pair("Der Vertrag verlängert sich um ein Jahr.", "Zur Erinnerung: |der Vertrag verlängert sich automatisch um ein Jahr| im Juni.", "de"),
    _pair("L'assureur accepte de payer les réparations du toit.", "Bonjour, |l'assureur accepte de payer toutes les réparations du toit| cette année.", "fr"),
    _pair("La réunion des parents est reportée à jeudi.", "Chers parents, |la réunion des parents est reportée à jeudi soir| à l'école.", "fr"),
    _pair("Le loyer augmente de 25 euros en janvier.", "Comme annoncé, |le loyer augmente de 25 euros en janvier| prochain.", "fr"),
    _pair("La livraison du canapé arrive mardi.", "Bonne nouvelle, |la livraison du canapé arrive mardi matin| chez vous.", "fr"),
)  # fmt: skip
