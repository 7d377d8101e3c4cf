import dev.happycity.Cards;
import dev.happycity.v1.Card;
import dev.happycity.v1.CardInfo;
import dev.happycity.v1.ColourCount;
import dev.happycity.v1.Mode;
import dev.happycity.v1.Scoring;
import dev.happycity.v1.SeatState;

/** The totals of a city, added up from the printed values. */
record City(boolean early, int inhabitants, int hearts, Scoring scoring) {
  /** A city with fewer cards than this (the Happy Market counts) is early: it looks for income. */
  private static final int EARLY_CARDS = 5;

  static City of(SeatState seat, Scoring scoring) {
    int inhabitants = 0;
    int hearts = 0;
    for (Card card : seat.getCityList()) {
      CardInfo info = Cards.infoOf(card);
      inhabitants += info.getInhabitants();
      hearts += info.getHearts();
    }
    return new City(seat.getCityCount() < EARLY_CARDS, inhabitants, hearts, scoring);
  }

  /**
   * Returns what a card is worth to the city: early its income and symbols, late the points that it
   * adds, then its symbols, then its income. A special with an effect is worth one more for each
   * card that its condition asks for. No card is worth 0.
   */
  int score(Card card) {
    CardInfo info = Cards.infoOf(card);
    int symbols = info.getInhabitants() + info.getHearts();
    int score =
        early
            ? 4 * info.getIncome() + symbols
            : 100 * (pointsWith(info) - points(inhabitants, hearts))
                + 10 * symbols
                + info.getIncome();
    if (info.getSpecialSet() == Mode.MODE_EXPERT) { // all of these have an effect, and no others
      for (ColourCount need : info.getConditionList()) {
        score += need.getCount();
      }
    }
    return score;
  }

  private int pointsWith(CardInfo card) {
    return points(inhabitants + card.getInhabitants(), hearts + card.getHearts());
  }

  /** Returns what totals make, each counting at least 0. */
  private int points(int inhabitants, int hearts) {
    int people = Math.max(0, inhabitants);
    int love = Math.max(0, hearts);
    return scoring == Scoring.SCORING_SUM ? people + love : people * love;
  }
}
