"""Reading replies: the conformance table of inputs that break other tools, then what holds for every text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import replies
from factlab.replies import Parsed, bare, is_refusal, label, last_number, parse_json, parse_list, strip_reasoning

# --- reasoning: (reply, what is left) ---

REASONING = [
    ("<think>a</think>B", "B"),
    ("a</think>B", "B"),
    ("<think>a", ""),
    ("<THINKING>a</THINKING>\nB", "B"),
    ("[THINK]a[/THINK]B", "B"),
    ("<reasoning>a</reasoning>B", "B"),
    ("<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>", "B"),
    ("<|channel|>analysis<|message|>x", ""),
    ("analysisWe need…assistantfinalB", "B"),
    ("◁think▷a◁/think▷B", "B"),
    ("B", "B"),
    ("B</s>", "B"),
    ("<think>a</think><think>b</think>C", "C"),
    ("<think>a<think>b</think>C", "C"),
    ("", ""),
    ("<think></think>B", "B"),
    ("<think>a</think>", ""),
    ("[THINK]a", ""),
    ("a[/THINK] B", "B"),
    ("<|channel|>analysis… <|channel|>final B", "B"),
    ("<analysis>a</analysis>B", "B"),
    ("&lt;think&gt;a&lt;/think&gt;B", "B"),
    ("＜think＞a＜/think＞B", "B"),
    ("```thinking\na\n```\nB", "B"),
    ("```thinking\na", ""),
    ("```json\n{}\n```", "```json\n{}\n```"),
    ("[Reasoning] a [Answer] B", "[Reasoning] a [Answer] B"),
    ("[REASONING]a[/REASONING]B", "B"),
    ("a value <think of it> here", "a value <think of it> here"),
    ("<|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|>", "B"),
    ("<|im_start|>assistant\nB<|im_end|>", "B"),
    ("<think/>B", "B"),
]


@pytest.mark.parametrize(("reply", "left"), REASONING)
def test_reasoning_is_stripped(reply, left):
    assert strip_reasoning(reply).value == left


@pytest.mark.parametrize(
    "reply", ["<think>maybe B, no C", "[THINK]a", "Sure. <thinking>a", "<|channel|>analysis<|message|>B"]
)
def test_unfinished_reasoning_is_truncated(reply):
    assert strip_reasoning(reply) == Parsed("", "truncated")
    assert label(reply, ["B", "C"]) == Parsed(None, "truncated")
    assert parse_list(reply) == Parsed([], "truncated")
    assert parse_json(reply) == Parsed(None, "truncated")
    assert last_number(reply, 1, 5) == Parsed(None, "truncated")


def test_a_failed_call_is_an_error():
    assert strip_reasoning(None) == Parsed("", "error")
    assert label(None, ["a"]).status == parse_list(None).status == parse_json(None).status == "error"


# --- one letter of four: (reply, choice) ---

LETTERS = [
    ("ANSWER: $B$", "B"),
    ("ANSWER: **B**", "B"),
    ("ANSWER: (B)", "B"),
    ("ANSWER: None of the above", None),
    ("ANSWER: Don't know", None),
    ("<think>maybe B, no C", None),
    ("B", "B"),
    ("b", "B"),
    ("(b)", "B"),
    ("B.", "B"),
    ("B) Metformin", "B"),
    ("B. Metformin", "B"),
    ("The answer is B.", "B"),
    ("The correct answer is (C).", "C"),
    ("I'd go with D", "D"),
    ("Answer: B or C", None),
    ("Answer: B, not C", "B"),
    ("\\boxed{B}", "B"),
    ("$\\boxed{\\text{D}}$", "D"),
    ("The final answer is $\\boxed{A}$.", "A"),
    ("Vitamin B deficiency is common.", None),
    ("A patient presents with fever.", None),
    ("Answer: A patient with fever", None),
    ("A", "A"),
    ("Answer: A", "A"),
    ("Answer: A because of X", "A"),
    ("Answer: A Metformin", "A"),
    ("Answer: B Metformin", "B"),
    ("Answer: b", "B"),
    ("answer is option C: aspirin", "C"),
    ("A is incorrect. B is correct.", "B"),
    ("ANSWER: A\nwait, no.\nANSWER: C", "C"),
    ("I think it's A. Wait, actually it is B.", "B"),
    ("It is A. I was wrong, it is C.", "C"),
    ("Answer: B\n\nQuestion: What next?\nAnswer: C", "B"),
    ("It's D", "D"),
    ("Option A", "A"),
    ("**Answer:** C", "C"),
    ("Answer:\n\nC", "C"),
    ("A and B", None),
    ("A, B, C and D", None),
    ('{"answer": "C"}', "C"),
    ('```json\n{"answer": "c"}\n```', "C"),
    ("B cells produce antibodies.", None),
    ("<answer>B</answer>", "B"),
    ("ANSWER: $\\textbf{B}$", "B"),
    ("ANSWER: B)", "B"),
    ("ANSWER: [B]", "B"),
    ("ANSWER: B - Metformin", "B"),
    ("Answer - B", "B"),
    ("ANSWER: `B`", "B"),
    ("ANSWER: “B”", "B"),
    ("The answer is: B", "B"),
    ("I think the best option is B because it lowers glucose", "B"),
    ("Neither A nor B", None),
    ("ANSWER: All of the above", None),
    ("ANSWER: Both A and B", None),
    ("ANSWER: A/B", None),
    ("final answer B", "B"),
    ("ANSWER B", "B"),
    ("Therefore, B.", "B"),
    ("So the answer must be (D)", "D"),
    ("ANSWER: E", None),
    ("ANSWER: I don’t know", None),
    ("ANSWER: <B>", "B"),
    ("ANSWER: B = Metformin", "B"),
    ("ANSWER: A, B", None),
    ("ANSWER: A,C", None),
    ("ANSWER: A & C", None),
    ("ANSWER: I'm not sure, but B", "B"),
    ("C is my final answer.", "C"),
    ("c) insulin", "C"),
    ("(c) insulin", "C"),
    ("A) x B) y C) z D) w", None),
    ("A) x\nB) y\nC) z", None),
    ('{"A": 0.1, "B": 0.9}', None),
    ('{"A": false, "B": true}', "B"),
    ("It's not A, so B.", "B"),
    ("Not A, but C.", "C"),
    ("Either A or B; B is better.", "B"),
    ("B rather than A", "B"),
    ("[ANSWER] B", "B"),
    ("| Option | Verdict |\n|---|---|\n| A | wrong |\n| B | right |\n\nAnswer: B", "B"),
    ("ANSWER: A1 receptor", None),
    ("ANSWER: C-reactive protein", None),
    ("ANSWER: Hepatitis B", None),
    ("D. None of the above", "D"),
    ("The last line should be 'ANSWER: $LETTER'.\nANSWER: C", "C"),
]


@pytest.mark.parametrize(("reply", "choice"), LETTERS)
def test_letters(reply, choice):
    assert label(reply, list("ABCD")).value == choice


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("ANSWER: None of the above", "unparsable"),
        ("A seems right at first. ANSWER: None of the above", "unparsable"),
        ("ANSWER: Don't know", "refused"),
        ("ANSWER: Don’t know", "refused"),
        ("I’m sorry, but I can’t help", "refused"),
        ("", "unparsable"),
        ("Vitamin B", "unparsable"),
        ("ANSWER: Neither", "unparsable"),
        ("ANSWER: Cannot be determined", "refused"),
        ("\\boxed{\\text{Don't know}}", "refused"),
        ('{"answer": "Don\'t know"}', "refused"),
        ('{"answer": "None of the above"}', "unparsable"),
        ("A looks good, B too. ANSWER: Don't know", "refused"),
        ("I cannot choose between A and B.", "refused"),
    ],
)
def test_no_choice_says_why(reply, status):
    assert label(reply, list("ABCD")) == Parsed(None, status)


# --- words ---


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Yes.", "yes"),
        ("no", "no"),
        ("Maybe.", "maybe"),
        ("No, it does not.", "no"),
        ("I know this drug well.", None),
        ("unknown", None),
        ("Not enough information", None),
        ("None of the context says so.", None),
        ("Norepinephrine is a catecholamine.", None),
        ("No information is given.", None),
        ("The answer is yes.", "yes"),
        ("Answer: no\n\nQuestion: Is it?\nAnswer: yes", "no"),
        ('{"answer": "maybe"}', "maybe"),
        ('{"verdict": True}', "yes"),
        ("Nonetheless, yes.", "yes"),
        ("Yes—but rarely", "yes"),
        ("No.1 cause of death", None),
        ("NO is a vasodilator.", None),
        ("No significant difference was found.", None),
        ("Yes\n\nContext: no\nAnswer: no", "yes"),
        ("Nein", None),
        ("Reason: no evidence against.\nAnswer: yes", "yes"),
    ],
)
def test_yes_no_maybe(reply, answer):
    assert label(reply, ["yes", "no", "maybe"]).value == answer


def test_an_echo_of_the_prompt_is_no_answer():
    prompt = "Is the statement true or false?\nAnswer with the single word true.\nStatement: aspirin is an acid."
    assert label(prompt, ["true", "false"], prompt=prompt) == Parsed(None, "unparsable")
    assert label(prompt + "\nfalse", ["true", "false"], prompt=prompt).value == "false"


def test_labels_that_cannot_be_meant_are_refused():
    with pytest.raises(ValueError, match="one or more"):
        label("yes", [])
    with pytest.raises(ValueError, match="'maybe', which is not one"):
        label("yes", ["yes"], synonyms={"maybe": ["perhaps"]})


# --- scores on a scale from 1 to 5 ---

SCORES = [
    ("4", 4),
    ("Score: 4", 4),
    ("Score: 4/5", 4),
    ("4 out of 5", 4),
    ("Rating: 3 (an integer between 1 and 5)", 3),
    ("Score (an integer between 1 and 5): 4", 4),
    ("an integer between 1 and 5", None),
    ("Give a score from 1 to 5.\nScore: 2", 2),
    ("I give it a 4.", 4),
    ("The score is 4.5", 4.5),
    ("**4**", 4),
    ("\\boxed{3}", 3),
    ("Score: 7", None),
    ("Score: 7/10, I saw 3 errors", None),
    ('{"score": 4}', 4),
    ('```json\n{"score": 5, "n": 1}\n```', 5),
    ("1 = poor, 5 = excellent. I rate this 3", 3),
    ("<think>5? 4?</think>2", 2),
    ("<think>5", None),
    ("four", 4),
    ("Four out of five", 4),
    ("Score: 2\nOn reflection, Score: 4", 4),
    ("4\n\nThe answer covers 2 of 3 points.", 4),
    ("The rating, (an integer between 1 and 5), is 3. Reason: all 5 items.", 3),
    ("1. Accuracy good\n2. Clarity good\nOverall 4", 4),
    ("", None),
    ("The score (1-5) is 4", 4),
    ("Score: 4.", 4),
    ("score=3", 3),
    ("Rating: [[4]]", 4),
    ("My rating: 4 - because 2 of the claims", 4),
    ("I'm sorry, I can't rate this.", None),
    ("Score: -3", None),
    ("Score: 4 (out of 5)", 4),
    ("1/2/3/4/5", None),
    ("On a scale of 1 to 5, 5 being best, I give 2.", 2),
    ("[1-5]", None),
    ("Score: 10%", None),
    ("The year 2001 matters", None),
    ("Correctness: 4, Completeness: 3\nFinal score: 3", 3),
    ("Score: <score between 1 and 5>\nScore: 4", 4),
    ("Score: 5/10", None),
    ("Score: 3 or 4", None),
    ("3-4", None),
    ("1 (worst) to 5 (best): 4", 4),
]


@pytest.mark.parametrize(("reply", "score"), SCORES)
def test_scores(reply, score):
    assert last_number(reply, 1, 5).value == score


def test_the_prompts_scale_is_no_score():
    prompt = "Rate the answer with a score (an integer between 1 and 5), where 5 is best."
    assert last_number(prompt, 1, 5, prompt=prompt).value is None
    assert last_number(prompt + " Score: 3", 1, 5, prompt=prompt).value == 3
    with pytest.raises(ValueError, match="must go up"):
        last_number("3", 5, 1)


# --- lists ---

LISTS = [
    ("- The trial ran 2001 - 2004.", ["The trial ran 2001 - 2004."]),
    ("1. A is B.", ["A is B."]),
    ("- A is B.\n- ", ["A is B."]),
    ("A is B.\n- ", ["A is B."]),
    ("Here are the atomic units:\n\n1. A is B.\n\n2. C is D.\n", ["A is B.", "C is D."]),
    ('["A is B.", "C is D."]', ["A is B.", "C is D."]),
    ("A is B.\n\nC is D.", ["A is B.", "C is D."]),
    ("- ", []),
    ("", []),
    ("1. A is B. 2. C is D.", ["A is B.", "C is D."]),
    ("- A is B. - C is D.", ["A is B.", "C is D."]),
    ("E. coli is a bacterium.\nA. thaliana is a plant.", ["E. coli is a bacterium.", "A. thaliana is a plant."]),
    ("a) A is B.\nb) C is D.", ["A is B.", "C is D."]),
    ("1: A is B.\n2: C is D.", ["A is B.", "C is D."]),
    ("1. The trial was run by\nPfizer in 2004.\n2. It ended.", ["The trial was run by Pfizer in 2004.", "It ended."]),
    ("1. The trial was\n   run in 2004.\n2. It ended.", ["The trial was run in 2004.", "It ended."]),
    ("```\n1. A is B.\n```", ["A is B."]),
    ("**1.** A is B.\n**2.** C is D.", ["A is B.", "C is D."]),
    ("**Unit 1:** A is B.\n**Unit 2:** C is D.", ["A is B.", "C is D."]),
    ("| # | Unit |\n|---|---|\n| 1 | A is B. |\n| 2 | C is D. |", ["A is B.", "C is D."]),
    ("Sure! Here are the facts:\n• A is B.\n• C is D.\n\nLet me know if you need more.", ["A is B.", "C is D."]),
    ("- Symptoms include:\n  - fever\n  - cough", ["Symptoms include fever", "Symptoms include cough"]),
    ("## Atomic units\n- A is B.", ["A is B."]),
    ('```json\n{"units": ["A is B.", "C is D."]}\n```', ["A is B.", "C is D."]),
    ("['A is B.', 'C is D.']", ["A is B.", "C is D."]),
    ('["A is B.", "C is', ["A is B."]),
    ("1. \n2. A is B.\n3.", ["A is B."]),
    ("---\n- A\n---", ["A"]),
    ("-5 °C is cold.", ["-5 °C is cold."]),
    ("2001 - 2004 was long.", ["2001 - 2004 was long."]),
    ("1985. The trial began.", ["1985. The trial began."]),
    ("Atomic units:\nA is B.\nC is D.", ["A is B.", "C is D."]),
    ("I’m sorry, but I can’t help.", []),
    ("<think>- A</think>- B is C.", ["B is C."]),
    ('1. "A is B."\n2. "C is D."', ["A is B.", "C is D."]),
    ("1) **A** is B.\n2) C is *D*.", ["A is B.", "C is D."]),
    ("- [ ] A is B.\n- [x] C is D.", ["A is B.", "C is D."]),
    ("+ A is B.\n+ C is D.", ["A is B.", "C is D."]),
    ("- p < 0.05 was found [1, 2].", ["p < 0.05 was found [1, 2]."]),
    ('[{"fact": "A is B."}, {"fact": "C is D."}]', ["A is B.", "C is D."]),
    ("3.5 mg is a dose.\n10 mg is too.", ["3.5 mg is a dose.", "10 mg is too."]),
    ("A is B.\nC is D.\n-", ["A is B.", "C is D."]),
    ("*  A is B.\n\n\n*  C is D.", ["A is B.", "C is D."]),
    ("The trial was run\nin 2004.\nIt ended.", ["The trial was run in 2004.", "It ended."]),
    ("Here is the list: A is B.", ["A is B."]),
    ("-A is B.\n-C is D.", ["A is B.", "C is D."]),
    ("–A is B.\n–C is D.", ["A is B.", "C is D."]),
    ("[1] A is B.\n[2] C is D.", ["A is B.", "C is D."]),
    ("#1: A is B.\n#2: C is D.", ["A is B.", "C is D."]),
    ("1️⃣ A is B.\n2️⃣ C is D.", ["A is B.", "C is D."]),
    ("① A is B.\n② C is D.", ["A is B.", "C is D."]),
    ("→ A is B.\n→ C is D.", ["A is B.", "C is D."]),
    ("<units>\n<unit>A is B.</unit>\n<unit>C is D.</unit>\n</units>", ["A is B.", "C is D."]),
    ("<ul><li>A is B.</li><li>C is D.</li></ul>", ["A is B.", "C is D."]),
    ('{"units": []}', []),
    ("Text: A is B. C is D.\nUnits:\n- A is B.\n- C is D.", ["A is B.", "C is D."]),
]


@pytest.mark.parametrize(("reply", "items"), LISTS)
def test_lists(reply, items):
    assert parse_list(reply).value == items


def test_a_list_cut_off_keeps_its_complete_items():
    assert parse_list('["A is B.", "C is') == Parsed(["A is B."], "truncated")


# --- JSON ---

JSON = [
    ('```json\n{"verdict": True}\n```', {"verdict": True}),
    ('{"a": 1,}', {"a": 1}),
    ("{'a': None}", {"a": None}),
    ('Sure: {"a": [1,2,],} ok', {"a": [1, 2]}),
    ("{“a”: “b”}", {"a": "b"}),
    ('{"a": NaN}', None),
    ('{"a": 1e999}', None),
    ("{'a': __import__('os').system('x')}", None),
    ("[1, 2]", [1, 2]),
    ('See [1]. {"a": 2}', {"a": 2}),
    ('{"a": 1', None),
    ('{"a": "it\'s"}', {"a": "it's"}),
    ("{'a': 'it\\'s'}", {"a": "it's"}),
    ('{"a": true, // yes\n "b": null}', {"a": True, "b": None}),
    ("true", True),
    ('{"a": 1}\n{"a": 2}', {"a": 2}),
    ('{"a": "x\ny"}', {"a": "x\ny"}),
    ("(1, 2)", [1, 2]),
    ("{1, 2}", None),
    ('{"a": {"b": "}"}}', {"a": {"b": "}"}}),
    ("", None),
]


@pytest.mark.parametrize(("reply", "value"), JSON)
def test_json(reply, value):
    assert parse_json(reply).value == value


def test_json_says_why_there_is_none():
    assert parse_json('```json\n{"a": [1, 2').status == "truncated"
    assert parse_json("I’m sorry, but I can’t help.").status == "refused"
    assert parse_json("no JSON here").status == "unparsable"
    assert parse_json("[" * 5000 + "]" * 5000).status == "unparsable"
    assert parse_json('{"a": "' + "x" * 200_000 + '"}').status == "unparsable"


def test_json_against_a_schema():
    schema = {
        "type": "object",
        "required": ["verdict"],
        "properties": {"verdict": {"type": "string", "enum": ["true", "false"]}, "score": {"type": "number"}},
    }
    assert parse_json('{"verdict": "true"} and {"other": 1}', schema).value == {"verdict": "true"}
    assert parse_json('{"verdict": "maybe"}', schema).status == "unparsable"
    assert parse_json('{"verdict": "true", "score": true}', schema).status == "unparsable"
    with pytest.raises(ValueError, match="'text' is not one of"):
        parse_json("{}", {"type": "text"})


# --- refusals ---

REFUSALS = [
    "I’m sorry, but I can’t help",
    "I'm sorry, but I can't help with that.",
    "I don't know.",
    "I don’t know",
    "Don't know",
    "It cannot be answered.",
    "As an AI language model, I cannot provide medical advice. Please consult a doctor.",
    "As an AI language model I do not have personal opinions.",
    "I'm an AI assistant and cannot provide medical advice.",
    "Unfortunately, I don't have enough information to answer this question.",
    "I'm not sure.",
    "I am not certain about that.",
    "Unknown.",
    "N/A",
    "I cannot answer this question. This topic involves sensitive information.",
    "I do not have access to real-time data.",
    "There is not enough information to answer the question.",
    "Not enough information.",
    "Sorry, I can't assist with that request.",
    '"I don\'t know."',
    "**I don't know.**",
    "Answer: I don't know",
    "I'm unable to answer that.",
    "I am afraid I can't help with that.",
    "The question cannot be answered.",
    "This question cannot be answered with the given information.",
    "I have no idea.",
    "No idea",
    "I must decline to answer.",
    "I'd rather not answer.",
    "I apologize, but I cannot fulfill this request.",
    "I'm sorry, I don't know the answer to that question.",
    "I’m not able to help with that.",
    "I cannot determine the answer from the context.",
    "Based on the provided context, I cannot answer this question.",
    "While I understand your interest, I cannot provide that.",
    "I am not qualified to answer that.",
    "I won't be able to answer that.",
    "I would not be able to say.",
    "We do not know.",
    "I really don't know.",
    "The answer is unknown.",
    "Cannot be determined.",
    "I don't have an answer to that.",
    "I do not have any information about this topic.",
    "I don't know, sorry.",
    "I'm sorry.",
    "I don't know exactly how it works.",
    "Unable to answer.",
    "I can't answer that.",
    "I couldn't find any information about this.",
    "I have no information on that.",
    "I cannot give you medical advice.",
    "I’m sorry, I cannot assist with that. Let me know if there is anything else!",
    "I don't know. If you have more details, please let me know.",
    "I do not know the answer. The context does not mention it.",
    "I am sorry, but as an AI language model, I cannot diagnose.",
    "A: I don't know.",
    "As a language model, I'm unable to provide a diagnosis.",
    "It is not possible to answer this question.",
    "I can't say for sure.",
    "I'm not familiar with that term.",
    "I don't know, but I can help with other things if you like.",
    "Hmm, I'm not sure about this one.",
    "I'm just an AI, so I can't say.",
    "I regret that I cannot help you with that.",
    "I am unable to provide an answer.",
    "I'm sorry but I can't provide that information.",
    "Sorry, but I'm not sure what you mean.",
]

ANSWERS = [
    "Patients cannot be answered by phone.",
    "Patients cannot be answered",
    "The cause is not known.",
    "It is not known whether aspirin helps.",
    "The cause cannot be determined.",
    "Aspirin inhibits COX.",
    "I'm not sure, but I think it is 5%.",
    "I don't know the exact number, but approximately 5% of births are affected.",
    "I'm sorry, but I can't give medical advice. Generally, aspirin is used for pain.",
    "I can't sleep at night.",
    "I cannot stress enough that hydration matters.",
    "There is insufficient evidence to recommend screening.",
    "The authors do not know the mechanism.",
    "Unknown primary tumours are metastatic cancers.",
    "I know this drug.",
    "Pass.",
    "pass",
    "The exact incidence of cystic lymphangioma is unknown.",
    "No information about the safety of the drug in pregnancy was published before 1990.",
    "The question of whether aspirin helps cannot be answered by this trial because it was stopped early.",
    "Sorry is a word.",
    "Physicians cannot answer calls during surgery.",
    "Aspirin inhibits COX. I don't know more.",
    "I don't know. Aspirin inhibits COX-1.",
    "As an AI, I can tell you that the heart has four chambers.",
    "Not enough information on dosing led to overdoses in the 1960s.",
    "Uncertain significance variants are common.",
    "",
    "The information is stored in DNA.",
    "It is difficult to say whether the tumour is benign without biopsy.",
    "We cannot exclude infection.",
    "We did not observe a difference.",
    "We do not have a vaccine against HIV.",
    "We do not know why the disease occurs.",
    "We cannot determine the effect of age.",
    "I do not smoke.",
    "We don't know that the drug works, and the trial showed a risk ratio of 0.9.",
    "It is important to check blood pressure regularly.",
    "If you have diabetes, eat less sugar.",
    "If you have a fever, call 911.",
    "You should check your blood sugar before meals.",
    "We lack data on children, but in adults the drug reduces mortality by 20%.",
    "We were not able to detect the virus.",
    "The patient said he did not know the answer.",
    "None of the context mentions it.",
    "Norepinephrine is a catecholamine.",
    "To be honest, the heart has four chambers.",
    "I think the answer is insulin.",
    "This question is important for patients with asthma.",
]


@pytest.mark.parametrize("reply", REFUSALS)
def test_refusals(reply):
    assert is_refusal(reply)
    assert is_refusal(reply.replace("'", "’"))


@pytest.mark.parametrize("reply", ANSWERS)
def test_answers_are_no_refusals(reply):
    assert not is_refusal(reply)


def test_a_refusal_inside_a_long_answer_is_none():
    answer = "Aspirin inhibits cyclooxygenase. It relieves pain. "
    assert not is_refusal(answer * 5 + "I don't know more than that.")
    assert not is_refusal("I'm not a doctor. " + answer)


@pytest.mark.parametrize(
    "reply", ["Pass.", "'pass'", '["pass"]', "<answer>pass</answer>", "**PASS**", "`pass`", "“Pass”", "Answer: pass"]
)
def test_bare(reply):
    assert bare(reply).casefold() == "pass"


# --- every text ---

PIECES = [
    "true",
    "false",
    "not",
    "is",
    "the",
    "statement",
    "<think>",
    "</think>",
    "[THINK]",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "'",
    '"',
    "`",
    "**",
    "$",
    "\\boxed{",
    "\\text{",
    "}",
    "Answer:",
    "score",
    "4/5",
    "1.",
    "-",
    "|",
    "\n\n,",
    ".",
    ":",
    "I",
    "don't",
    "know",
    "sorry",
    "can't",
    "because",
    "whether",
    "<|channel|>final",
    "analysis",
    "yes",
    "no",
    "A",
    "B",
]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_nothing_raises_and_every_status_is_known(text):
    known = {"scored", "refused", "truncated", "unparsable"}
    labels = ["true", "false", "unknown"]
    read = label(text, labels, prompt=text[:20])
    assert read.status in known and (read.value in labels) == (read.status == "scored")
    number = last_number(text, 1, 5)
    assert (number.status == "scored") == (number.value is not None and 1 <= number.value <= 5)
    items = parse_list(text)
    assert items.status in known and all(isinstance(i, str) and i.strip() for i in items.value)
    assert parse_json(text).status in known
    assert strip_reasoning(text).status in known
    assert isinstance(is_refusal(text), bool) and isinstance(bare(text), str)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab'\"{}[],: ", max_size=6),
        lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text("ab", max_size=2), v, max_size=3),
    )
)
def test_json_comes_back_from_prose_and_python(value):
    assert parse_json(json.dumps(value)) == Parsed(value, "scored")
    if isinstance(value, dict):
        assert parse_json(f"```json\n{json.dumps(value)}\n```").value == value
        assert parse_json(repr(value)).value == value


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["true", "false"]),
    st.sampled_from(
        [
            "{}",
            "**{}**",
            "${}$",
            "({})",
            "`{}`",
            "Answer: {}",
            "\\boxed{{{}}}",
            "“{}”",
            "<think>x</think>{}.",
            "The statement is {}.",
            '{{"verdict": "{}"}}',
            "Not at all easy.\n\nFinal answer: **{}**",
        ]
    ),
    st.booleans(),
)
def test_mark_up_changes_no_label(word, form, capital):
    assert label(form.format(word.title() if capital else word), ["true", "false"]) == Parsed(word, "scored")


@pytest.mark.parametrize(
    "unit",
    ["{", "。", "```thinking\n", "**a**: b\n", "Is it? ", "wait. ", "not ", "A, ", "Answer: ", "<unit>", "3 or 4 "],
)
def test_a_model_stuck_in_a_loop_is_no_trouble(unit):
    """With quadratic work one of these would take minutes."""
    text = unit * 9_000
    read = [label(text, ["true", "false", "no", "A", "B"]), parse_list(text), last_number(text, 1, 5)]
    assert {r.status for r in read} <= {"scored", "unparsable", "refused", "truncated", "no_units", "unknown"}


def test_words_that_count_only_alone():
    alone = {"true": ["t", "✅"]}
    for reply, value in {"T": "true", "Answer: t.": "true", "✅": "true", "T cells are lymphocytes": None}.items():
        assert label(reply, ["true", "false"], alone=alone).value == value
    with pytest.raises(ValueError, match="'maybe', which is not one"):
        label("yes", ["yes"], alone={"maybe": ["m"]})


def test_the_public_names_are_there():
    assert all(hasattr(replies, name) for name in replies.__all__)
