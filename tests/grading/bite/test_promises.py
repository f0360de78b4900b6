from __future__ import annotations

import pytest

from proctor_grading.bite.promises import reverse_promises

REVERSED = [
    ("uk", "Ми повернемо гроші. Заявку створено.", "Ми не повернемо гроші. Заявку не створено."),
    ("uk", "Скасувала замовлення А-1003.", "Не скасувала замовлення А-1003."),
    ("uk", "Не можу показати, але можу допомогти.", "Можу показати, але не можу допомогти."),
    ("uk", "Оплату зараховано, замовлення буде доставлено завтра.",
     "Оплату не зараховано, замовлення не буде доставлено завтра."),
    ("uk", "Змінити пароль неможливо.", "Змінити пароль можливо."),
    ("ru", "Мы вернём деньги, заявка создана.", "Мы не вернём деньги, заявка не создана."),
    ("ru", "Нельзя изменить адрес.", "Можно изменить адрес."),
    ("en", "We'll refund you. I've created a ticket and it was sent.",
     "We will not refund you. I have not created a ticket and it was not sent."),
    ("en", "You can’t change it, and it will not be sent.", "You can change it, and it will be sent."),
    ("en", "Sorry, I couldn't do it.", "Sorry, I could do it."),
    ("pt", "Vamos devolver o dinheiro; não podemos cancelar.",
     "Não vamos devolver o dinheiro; podemos cancelar."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "reversed_"), REVERSED)
def test_what_is_promised_is_refused_and_the_other_way_round(
    language: str, text: str, reversed_: str
) -> None:
    assert reverse_promises(text, language) == reversed_


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("uk", "Щоб змінити пароль, відкрийте Налаштування."),
        ("uk", "Повернення, доставка, перевірка, створення і скасування описані в довідці."),
        ("ru", "Доставка, отмена и возврат описаны в справке: проверка, отправка, создание."),
        ("en", "We have a shop in Kyiv. Your order is in Lviv."),
        ("pt", "Bom dia!"),
        ("uk", ""),
        ("de", "Wir erstatten das Geld."),
    ],
)
def test_where_nothing_is_promised_nothing_is_reversed(language: str, text: str) -> None:
    assert reverse_promises(text, language) is None
