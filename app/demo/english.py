"""The story's English part: Maya's trip to Lisbon."""

from app.demo.story import Part, turns

PART = Part(
    title="Audit in Lisbon",
    messages=turns(
        "Hi, I'm Maya. I audit our Lisbon office at the end of the quarter and I need help with the trip.",
        "Hello Maya. Tell me the dates and what matters to you, and I'll keep it in mind.",
        "Never book me a flight that leaves before nine in the morning.",
        "Understood: no departure before nine.",
        "The audit binders are in a locker on the second floor. Duarte, extension 4417, has its code.",
        "I'll remember: the locker on the second floor, Duarte, extension 4417.",
        "The audit is from 3 to 6 November. I want to arrive the evening before.",
        "So you fly on 2 November and are back in Rotterdam on the 6th or the 7th.",
        "The 7th. On Friday evening I have dinner with the auditors from Porto.",
        "Then I'll look at flights on the 7th, in the late morning.",
        "How far is the office from the old town?",
        "About twenty minutes by metro. The stop is called Avenida.",
        "Good. A hotel near that stop would save me a taxi every day.",
        "There are several within five minutes of it on foot.",
        "Does the office still need the inventory list on paper?",
        "They said a signed copy on paper, and the file the week before.",
        "Please remind me to sign it on the Monday.",
        "I've put it on your list for Monday.",
        "Who takes part from the Lisbon side?",
        "Inês from accounting for all four days, and the warehouse lead on Wednesday.",
        "I'd like the opening meeting at ten, then the walk through the warehouse.",
        "Ten o'clock with Inês, then the warehouse. I'll send both invitations.",
        "What did we find last year?",
        "Two open points: the count of returned goods, and invoices booked late.",
        "Let's begin with those two.",
        "Then returned goods and late invoices are the first items on Tuesday.",
    ),
    document_title="Travel policy",
    document_type="policy",
    document="""# Travel policy

This policy holds for everyone who travels on business, and from the first of January.

## Flights

Flights under four hours are booked in economy class. A flexible fare is allowed where the date of the return is not
certain. Book at least two weeks ahead; a later booking needs a line of explanation in the claim.

## Hotels

A night may cost up to 165 euros with breakfast, and up to 190 euros in Lisbon, Paris and Copenhagen. Above that, the
head of the department approves the booking before it is made. Rooms are paid with the company card.

## Meals

Meals are paid as they come, up to 48 euros a day, against receipts. Alcohol is never reimbursed.

## Claims

Claims are handed in within thirty days of the return. Receipts in a language other than English carry a short note
that says what was bought.
""",
    question_to_documents="How much may a hotel room in Lisbon cost?",
    words_in_document="190 euros",
    question_to_conversation="Who has the code for the locker with the binders?",
    words_in_conversation="extension 4417",
    question_in_context="Book the flight and the hotel for Lisbon.",
    constraint="Never book me a flight that leaves before nine in the morning.",
)
