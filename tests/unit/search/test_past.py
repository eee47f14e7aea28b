"""Which questions ask about the past: 150 in three languages, half of them about the present."""

import numpy as np
import pytest

from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.past import asks_past, of_question, words_of_when
from kgsvc.search.times import held_in

PAST = """
Who was the tutor before?
What did the flat cost in March?
Which course did I give up?
How long had the shop been there when it closed?
Who led the harbour project in 2022?
Where did Nina live before she moved to Lyon?
Who used to look after the greenhouse?
What was the rent two years ago?
Which phone did I have last year?
Who ran the bakery in May?
What was my previous address?
Who is the former chair of the choir?
Which team no longer works on billing?
What were the opening hours at first?
Who held the keys in April 2023?
What did we originally agree on?
Where was the server hosted back then?
Which supplier delivered the flour in June?
How much had we paid by August?
Who taught the evening class?
What was the budget before the current one?
Which gym did she belong to?
Who owned the boat?
When did he leave the band?
Which language was the tool written in earlier?
Where were the archives kept?
Did Omar ever work in Porto?
Who doesn't sing with us any more?
How many people worked there in 2021?
Whose desk stood by the window?
Wer war früher die Trainerin?
Was kostete die Wohnung im März?
Wo wohnte Jana, bevor sie umzog?
Wer hat das Lager im Mai geleitet?
Welchen Kurs habe ich abgebrochen?
Wie hieß der Verein damals?
Wo hat Paul vorher gearbeitet?
Wer ist nicht mehr im Chor?
Wohin ist Mara gezogen?
Was war das ursprüngliche Budget?
Wer leitete die Bäckerei im Jahr 2021?
Welches Auto hatten wir letztes Jahr?
Wer gab uns den Schlüssel?
Wie lange gab es den Laden, als er schloss?
Wann ist Tom aus der Band ausgestiegen?
Wer hat die Blumen gegossen?
Wie viele Leute arbeiteten dort?
Wo lagen die Akten?
Wer war vor zwei Jahren Vorsitzende?
Wie lautete die ehemalige Adresse?
Welche Firma lieferte das Mehl?
Wem gehörte das Boot?
Was haben wir zuerst vereinbart?
Wer hat sich um den Garten gekümmert?
Wurde der Vertrag verlängert?
以前の家庭教師は誰でしたか？
3月の家賃はいくらでしたか？
どの講座をやめましたか？
店が閉まったとき、何年続いていましたか？
前の担当者は誰ですか？
田中さんは昔どこに住んでいた？
去年使っていた携帯は何？
もう働いていない人は誰？
当時のリーダーは誰？
かつての会社名は？
最初は何人いましたか？
鍵を持っていたのは誰？
先月の予算はいくら？
彼はいつバンドを辞めたの？
山田さんはどこで働いていたの？
昨年の大会で優勝した人は誰？
誰が庭の世話をしていましたか？
その船は誰のものだったの？
会議はどこで開かれましたか？
前はどのジムに通っていた？
"""

PRESENT = """
Who is the tutor now?
What does the flat cost?
Which course am I taking?
How long has the shop been there?
Who leads the harbour project?
Where does Nina live?
Who looks after the greenhouse these days?
What is the rent?
Which phone do I have?
Who runs the bakery?
What is my address?
Who is the chair of the choir?
Which team works on billing?
What are the opening hours?
Who has the keys at the moment?
What have we agreed on so far?
Where is the server hosted?
Which supplier delivers the flour?
How much do we pay each month?
Who teaches the evening class?
Who checks the report before it is sent?
Which gym does she belong to?
Who owns the boat?
When does he have rehearsal?
Which language is the tool written in?
Where are the archives kept?
Does Omar still work in Porto?
Who sings with us?
How many people work there?
Whose desk stands by the window?
Is Bea married to the man she met in Oslo?
Who can approve invoices?
What will the trip to Rome cost?
Which shared folder holds the minutes?
Who has been chair since May?
What do I need to finish before Friday?
Wer ist jetzt die Trainerin?
Was kostet die Wohnung?
Wo wohnt Jana?
Wer leitet das Lager?
Welchen Kurs besuche ich?
Wie heißt der Verein?
Wo arbeitet Paul?
Wer singt im Chor?
Wie hoch ist das Budget?
Wer führt die Bäckerei?
Welches Auto haben wir?
Wer hat den Schlüssel?
Wie lange gibt es den Laden schon?
Wer gießt die Blumen?
Wie viele Leute arbeiten dort?
Wo liegen die Akten?
Wer ist derzeit Vorsitzende?
Wie lautete noch die aktuelle Adresse?
Welche Firma liefert das Mehl?
Wem gehört das Boot?
Wann ist das nächste Treffen?
今の家庭教師は誰ですか？
家賃はいくらですか？
どの講座を受けていますか？
店は何年続いていますか？
現在の担当者は誰ですか？
田中さんはどこに住んでいますか？
使っている携帯は何？
駅前の店の名前は何ですか？
リーダーは誰？
会社名は？
何人いますか？
鍵を持っているのは誰？
今月の予算はいくら？
練習はいつですか？
山田さんはどこで働いているの？
あなたの先生は誰ですか？
誰が庭の世話をしていますか？
その船は誰のものですか？
"""


def lines(table: str) -> list[str]:
    return table.strip().splitlines()


def test_half_of_them_ask_about_the_present() -> None:
    assert len(lines(PAST)) == len(lines(PRESENT)) == 75


@pytest.mark.parametrize("question", lines(PAST))
def test_asks_about_the_past(question: str) -> None:
    assert asks_past(question)


@pytest.mark.parametrize("question", lines(PRESENT))
def test_asks_about_the_present(question: str) -> None:
    assert not asks_past(question)


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("What was it?", ["winter", "spring", "since"]),
        ("What was it in February 2024?", ["winter"]),
        ("What was it in March?", ["winter", "spring"]),
        ("What was it before February 2024?", ["winter"]),
        ("Was war es seit Mai 2024?", ["spring", "since"]),
        ("What was it in 2024?", ["winter", "spring", "since"]),
    ],
)
def test_a_month_picks_what_held_then(question: str, held: list[str]) -> None:
    """Of months without a year the last that had begun when the latest fact began."""
    begins = {"winter": "2023-12-05", "spring": "2024-03-10", "since": "2024-06-01"}
    ends = {"winter": "2024-03-10", "spring": "2024-06-01", "since": "2262-01-01"}
    start, end = (np.array(list(each.values()), "datetime64[ms]").astype(np.int64) for each in (begins, ends))
    past = of_question(NONE, question).past
    assert past is not None
    now_ms = int(np.datetime64("2025-01-01", "ms").astype(np.int64))
    inside = held_in(past, start, end, now_ms)
    assert [name for name, holds in zip(begins, inside, strict=True) if holds] == held


def test_a_time_in_the_filters_decides() -> None:
    for given in (Filters(true_at_ms=1), Filters(valid=Span(1)), Filters(holding_now=True)):
        assert of_question(given, "Who was the tutor before?") == given
    assert of_question(NONE, "Who is the tutor?") == NONE


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Where was I working on 20 October?", "20 October"),
        ("What was decided on 2024-10-20?", ""),
        ("Who is my boss at the moment?", "at the moment"),
        ("Was ist jetzt im Mai 2024 mein Gehalt?", "jetzt"),
        ("今は誰が上司ですか", "今"),
        ("Who leads the team?", ""),
        ("Who leads the team since May 2024?", ""),
    ],
)
def test_the_words_of_when_are_told(question: str, words: str) -> None:
    filters = of_question(NONE, question)
    assert sorted(words_of_when(question, filters).split()) == sorted(words.split())


def test_words_of_a_time_that_the_caller_gives_are_told() -> None:
    at = Filters(true_at_ms=1)
    assert words_of_when("Where was I working on 20 October?", at) == "20 October"
    assert words_of_when("Where was I working on 20 October?", NONE) == ""


def test_what_happened_asks_for_the_past() -> None:
    assert asks_past("What happened to our veggie box subscription?")
